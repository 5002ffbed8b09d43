// SPDX-License-Identifier: Apache-2.0
//
// What a workload measured, run by run, for people and for programs.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace rota::bench {

// Named values in the order in which they are shown. The unit is the end of the name: jobs_per_s,
// p99_ms, server_written_bytes.
class Figures {
 public:
  void add(std::string name, double value) { values_.emplace_back(std::move(name), value); }
  const std::vector<std::pair<std::string, double>>& values() const { return values_; }

 private:
  std::vector<std::pair<std::string, double>> values_;
};

struct Report {
  std::string workload;
  std::vector<std::pair<std::string, std::string>> options;  // as they were in force
  std::vector<Figures> runs;

  // {"workload", "options", "machine", "runs": [{NAME: VALUE}], "summary": {NAME: {"median", "min",
  // "max"}}}. A figure that not every run has is summarised over those that have it.
  nlohmann::ordered_json to_json() const;
  // The summary as a table: a line for each figure.
  std::string to_table() const;
};

// 1234567.8 -> "1,234,568"; small values keep three digits.
std::string to_text(double value);

}  // namespace rota::bench
