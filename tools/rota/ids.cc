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

Result<JobIds> expand_ids(const std::vector<std::string>& ids, int in) {
  JobIds out;
  out.many = ids.size() != 1;
  for (const std::string& id : ids) {
    if (id != "-") {
      out.all.push_back(id);
      continue;
    }
    out.many = true;
    if (auto ok = read_ids(in, &out.all); !ok) return std::move(ok).error();
  }
  return out;
}

int for_each_id(Context& context, const Result<JobIds>& ids,
                const std::function<int(const std::string&)>& run) {
  if (!ids) return context.fail(ids.error());
  FirstFailure code;
  if (ids->many) context.out.begin_many();
  for (const std::string& id : ids->all) {
    if (base::is_utf8(id)) {
      code.add(run(id));
    } else {  // from standard input
      code.add(fail_one(context, *ids, id, usage_error("JOB", base::quoted(id) + " is not UTF-8")));
    }
  }
  if (ids->many) context.out.end_many();
  return code.code();
}

int fail_one(Context& context, const JobIds& ids, const std::string& id, const Error& error) {
  if (!ids.many) return context.fail(error);
  context.out.show_refused(id, context.in_words_of_command(error));
  return context.fail(with_id(error, id));
}

void show_untried(Context& context, const JobIds& ids, std::size_t from, const Error& stopped) {
  Error untried = stopped;
  untried.may_have_happened = false;
  untried.message = "not tried: " + stopped.message;
  for (std::size_t i = from; i < ids.all.size(); ++i) {
    context.out.show_refused(ids.all[i], context.in_words_of_command(untried));
  }
}

Error with_id(Error error, const std::string& id) {
  // Behind: a message may begin with the name of its field.
  const bool named = !base::is_utf8(id) || error.message.find(id) != std::string::npos;
  if (!named) error.message += " (" + id + ")";
  return error;
}

}  // namespace rota::cli
