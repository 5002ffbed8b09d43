// SPDX-License-Identifier: Apache-2.0
#include "rota/ids.h"

#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "rota/line_reader.h"

namespace rota::cli {
namespace {

constexpr std::size_t kIdLineBytesMax = 256;  // an id has 32 at most

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

Result<Ok> read_ids(int in, std::vector<std::string>* all) {
  LineReader reader(in, kIdLineBytesMax);
  std::string_view line;
  while (true) {
    switch (reader.next(&line)) {
      case LineReader::Got::kLine:
        line = trimmed(line);
        if (!line.empty()) all->emplace_back(line);
        break;
      case LineReader::Got::kNotYet: {
        pollfd ready{.fd = in, .events = POLLIN, .revents = 0};
        poll(&ready, 1, -1);
        break;
      }
      case LineReader::Got::kEnd:
        return Ok{};
      case LineReader::Got::kTooLong:
      case LineReader::Got::kSkipping:
      case LineReader::Got::kEndless:
        return usage_error("-", fmt::format("line {} is longer than {} bytes, which no id is",
                                            reader.line_number(), kIdLineBytesMax));
      case LineReader::Got::kFault:
        return usage_error("-", std::string("standard input: ") + std::strerror(errno));
    }
  }
}

}  // namespace

Result<std::vector<std::string>> expand_ids(const std::vector<std::string>& ids, int in) {
  std::vector<std::string> all;
  for (const std::string& id : ids) {
    if (id != "-") {
      all.push_back(id);
    } else if (auto ok = read_ids(in, &all); !ok) {
      return std::move(ok).error();
    }
  }
  return all;
}

int for_each_id(Context& context, const Result<std::vector<std::string>>& ids,
                const std::function<int(const std::string&)>& run) {
  if (!ids) return context.fail(ids.error());
  FirstFailure code;
  const bool many = ids->size() != 1;
  if (many) context.out.begin_many();
  for (const std::string& id : *ids) {
    if (base::is_utf8(id)) {
      code.add(run(id));
    } else {  // from standard input
      code.add(context.fail(usage_error("JOB", base::quoted(id) + " is not UTF-8")));
    }
  }
  if (many) context.out.end_many();
  return code.code();
}

Error with_id(Error error, const std::string& id) {
  // Behind: a message may begin with the name of its field.
  const bool named = !base::is_utf8(id) || error.message.find(id) != std::string::npos;
  if (!named) error.message += " (" + id + ")";
  return error;
}

}  // namespace rota::cli
