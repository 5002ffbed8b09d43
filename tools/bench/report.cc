// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/statistics.h"

namespace rota::bench {
namespace {

using Json = nlohmann::ordered_json;

Json machine() {
  utsname system{};
  uname(&system);
  return {{"processors", sysconf(_SC_NPROCESSORS_ONLN)},
          {"memory_bytes", sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)},
          {"kernel", system.release}};
}

// In the order in which the names appear first.
std::vector<std::pair<std::string, Summary>> summaries(const std::vector<Figures>& runs) {
  std::vector<std::pair<std::string, std::vector<double>>> columns;
  for (const Figures& run : runs) {
    for (const auto& [name, value] : run.values()) {
      auto column = std::find_if(columns.begin(), columns.end(),
                                 [&](const auto& one) { return one.first == name; });
      if (column == columns.end()) column = columns.insert(column, {name, {}});
      column->second.push_back(value);
    }
  }
  std::vector<std::pair<std::string, Summary>> result;
  for (auto& [name, values] : columns) result.emplace_back(name, summarize(std::move(values)));
  return result;
}

}  // namespace

std::string to_text(double value) {
  if (std::abs(value) < 1'000) return fmt::format("{:.4g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

Json Report::to_json() const {
  Json json;
  json["workload"] = workload;
  json["options"] = Json::object();
  for (const auto& [name, value] : options) json["options"][name] = value;
  json["machine"] = machine();
  json["runs"] = Json::array();
  for (const Figures& run : runs) {
    Json figures = Json::object();
    for (const auto& [name, value] : run.values()) figures[name] = value;
    json["runs"].push_back(std::move(figures));
  }
  json["summary"] = Json::object();
  for (const auto& [name, summary] : summaries(runs)) {
    json["summary"][name] = {
        {"median", summary.median}, {"min", summary.min}, {"max", summary.max}};
  }
  return json;
}

std::string Report::to_table() const {
  const auto rows = summaries(runs);
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  std::string text = fmt::format("{:<{}}  {:>15}  {:>15}  {:>15}\n", "", width,
                                 runs.size() == 1 ? "1 run" : "median", "min", "max");
  for (const auto& [name, summary] : rows) {
    text += fmt::format("{:<{}}  {:>15}  {:>15}  {:>15}\n", name, width, to_text(summary.median),
                        to_text(summary.min), to_text(summary.max));
  }
  return text;
}

}  // namespace rota::bench
