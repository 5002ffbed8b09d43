// SPDX-License-Identifier: Apache-2.0
//
// Cron text: what is accepted, and the value it becomes. Which local times an expression names is
// cron_grid.h, which instants those are is cron_next.h.
//
//   [second] minute hour day-of-month month day-of-week
//
//   second, minute 0-59, hour 0-23, day of month 1-31, month 1-12 or JAN-DEC,
//   day of week 0-7 or SUN-SAT (0 and 7 are Sunday)
//   item:  *  N  N-M  */step  N-M/step  N/step (from N to the field's maximum); lists with commas
//   ?      the same as * and only in the two day fields
//   @yearly @annually @monthly @weekly @daily @midnight @hourly
//
// Names and macros in any case; blanks and tabs separate fields and may stand at both ends; a
// number has at most two digits, the whole text at most limits::kCronBytesMax bytes; a range may
// not be reversed, and a step not larger than the number of values that it steps through. With both
// day fields restricted a day matches when either does; a field that begins with * counts as not
// restricted, so its values then only narrow the other (Vixie's rule). L, W and # are refused as
// not supported yet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace rota::core {

// The values a field allows, bit n for value n. Plain data: two texts that name the same times
// compare equal, "0 9 * * MON" and "00 09 * * 1" for instance.
struct CronExpr {
  std::uint64_t seconds = 1;
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t days_of_month = 0;  // bits 1-31
  std::uint16_t months = 0;         // bits 1-12
  std::uint8_t days_of_week = 0;    // bits 0-6, Sunday first
  // Either day field matches (both are restricted); otherwise both must.
  bool either_day = false;
  // Minute or hour begins with *: the expression is matched against the wall clock in every real
  // minute instead of naming times of its own (see cron_next.h).
  bool wildcard = false;

  friend bool operator==(const CronExpr&, const CronExpr&) = default;
};

struct CronFault {
  // Byte of the text, from 0, at which the fault stands.
  std::size_t position = 0;
  // "minute", "day of week", ...; empty when the fault is not in one field.
  std::string field;
  // What is wrong, with the text at fault.
  std::string fault;
  // What would be right, in words.
  std::string allowed;

  // All of it in one sentence, positions counted from 1 as people do.
  std::string message() const;
};

// Total: any bytes give an expression or a fault. A date that never occurs (31 April) is a fault.
std::variant<CronExpr, CronFault> parse_cron(std::string_view text);

}  // namespace rota::core
