// SPDX-License-Identifier: Apache-2.0
// How things are written for people: spans, times, states, tables, colour. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "rota/v1/job.pb.h"

namespace rota::cli {

// What a text depends on besides the data.
struct View {
  std::int64_t now_ms = 0;  // wall clock, for relative times
  bool color = false;
};

enum class Paint { kPlain, kGood, kBad, kBusy, kFaint, kBold };

// `text` in a colour, unless the view has none.
std::string paint(const View& view, Paint style, std::string_view text);

// Milliseconds since 1970.
std::int64_t to_ms(const google::protobuf::Timestamp& time);
std::int64_t to_ms(const google::protobuf::Duration& span);
void put_time(std::int64_t ms, google::protobuf::Timestamp* out);
void put_span(std::int64_t ms, google::protobuf::Duration* out);

// "350 ms", "1.2 s", "42 s", "7 h 58 min", "3 d 2 h", "366 d": two units at most.
std::string span_text(std::int64_t ms);

// "in 7 h 58 min", "3 min ago", "now". Of a field that may be absent: only behind has_...(), since
// 0 is a time like any other.
std::string relative_text(std::int64_t ms, std::int64_t now_ms);

// RFC 3339 UTC; the same holds.
std::string time_text(const google::protobuf::Timestamp& time);

// "2026-11-30 00:00 +02:00" from "2026-11-30T00:00:00+02:00"; seconds only when they are not 0.
std::string local_text(std::string_view rfc3339);

// "READY", "SUCCEEDED": without the prefix of the enum.
std::string state_name(v1::JobState state);
// The state in its colour.
std::string state_text(const View& view, v1::JobState state);
// "succeeded", "lost"; "running" while it runs.
std::string outcome_text(v1::AttemptOutcome outcome);

// Foreign text on one line of a terminal: as it is, or as a quoted literal with \xNN when it holds
// control characters or broken UTF-8; what is longer than `max_bytes` is cut and ends in "...".
std::string printable(std::string_view text, std::size_t max_bytes = 200);

// "first", "second", "third", "4th", "11th", "22nd".
std::string ordinal(std::int64_t number);

// "1 job", "3 jobs".
std::string count_of(std::int64_t number, std::string_view noun);

// Appends "  NAME       VALUE\n", the name padded to `width` columns; nothing for an empty value.
void add_named(std::string* out, std::string_view name, const std::string& value, int width = 10);

// "paused by ada, since 3 m ago: month end", in its colour.
std::string pause_text(const v1::Pause& pause, const View& view);

// Columns of text, aligned by the widest cell; the last column is not padded. Cells may hold colour
// and UTF-8.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.size() == 1; }
  // Each row ends with a line feed. Without header: for the later pages of a listing.
  std::string text(bool with_header = true) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rota::cli
