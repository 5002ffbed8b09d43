// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cron_expr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "unit/schedule/support.h"

namespace rota::core {
namespace {

using testing::cron;
using ::testing::HasSubstr;

CronFault fault_of(std::string_view text) {
  auto parsed = parse_cron(text);
  const auto* fault = std::get_if<CronFault>(&parsed);
  if (fault == nullptr) {
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }
  return *fault;
}

TEST(CronExpr, TextsThatNameTheSameTimesAreEqual) {
  EXPECT_EQ(cron("0 9 * * MON"), cron(" 00\t09  * * 1 "));
  EXPECT_EQ(cron("0 0 * JAN-mar sat-sun"), cron("0 0 * 1,2,3 6,0"));
  EXPECT_EQ(cron("0 0 * * 5-7"), cron("0 0 * * 0,5,6"));
  EXPECT_EQ(cron("0 0 * * sun-mon"), cron("0 0 * * 0,1"));
  EXPECT_EQ(cron("5/15 * * * *"), cron("5,20,35,50 * * * *"));
  EXPECT_EQ(cron("0 30 4 * * *"), cron("30 4 * * *"));
  EXPECT_EQ(cron("0 0 ? * 1"), cron("0 0 * * 1"));
  EXPECT_EQ(cron("0 0 1 * ?"), cron("0 0 1 * *"));
  // A step as large as its field takes the first value alone.
  const CronExpr first = cron("*/60 */24 */31 */12 */7");
  const CronExpr alone = cron("0 0 1 1 0");
  EXPECT_EQ(first.minutes, alone.minutes);
  EXPECT_EQ(first.hours, alone.hours);
  EXPECT_EQ(first.days_of_month, alone.days_of_month);
  EXPECT_EQ(first.months, alone.months);
  EXPECT_EQ(first.days_of_week, alone.days_of_week);
  EXPECT_EQ(cron("0/60 5-9/5 * * *"), cron("0 5 * * *"));
}

TEST(CronExpr, ShortForms) {
  EXPECT_EQ(cron("@yearly"), cron("0 0 1 1 *"));
  EXPECT_EQ(cron("@annually"), cron("0 0 1 1 *"));
  EXPECT_EQ(cron("@monthly"), cron("0 0 1 * *"));
  EXPECT_EQ(cron("@weekly"), cron("0 0 * * 0"));
  EXPECT_EQ(cron("@daily"), cron("0 0 * * *"));
  EXPECT_EQ(cron(" @Midnight "), cron("0 0 * * *"));
  EXPECT_EQ(cron("@hourly"), cron("0 * * * *"));
  EXPECT_THAT(fault_of("@reboot").message(), HasSubstr("@hourly"));
  EXPECT_THAT(fault_of("@daily 5").message(), HasSubstr("standing alone"));
}

TEST(CronExpr, StarsDecideHowDaysAndChangesOfTheClockAreTreated) {
  EXPECT_TRUE(cron("0 0 1 * 1").either_day);
  EXPECT_FALSE(cron("0 0 */2 * 1").either_day);
  EXPECT_FALSE(cron("0 0 1 * *").either_day);
  EXPECT_TRUE(cron("0 0 1-31 * 1").either_day);
  EXPECT_TRUE(cron("*/5 2 * * *").wildcard);
  EXPECT_TRUE(cron("0 */2 * * *").wildcard);
  EXPECT_FALSE(cron("0-59 2 * * *").wildcard);
  EXPECT_FALSE(cron("* 30 2 * * *").wildcard) << "the seconds do not count";
}

struct Refusal {
  const char* text;
  std::size_t position;  // counted from 1, as in the message
  const char* field;
  const char* fault;
  const char* allowed;
};

TEST(CronExpr, FaultsNameThePositionTheFieldAndWhatIsAllowed) {
  const Refusal refusals[] = {
      {"77 * * * *", 1, "minute", "77 is out of range", "0-59"},
      {"0 24 * * *", 3, "hour", "24 is out of range", "0-23"},
      {"0 61 * * * *", 3, "minute", "61 is out of range", "0-59"},
      {"* * 0 * *", 5, "day of month", "0 is out of range", "1-31"},
      {"* * * 13 *", 7, "month", "13 is out of range", "JAN-DEC"},
      {"* * * * 8", 9, "day of week", "8 is out of range", "SUN-SAT"},
      {"*/0 * * * *", 3, "minute", "step 0", "1 to 60"},
      {"*/61 * * * *", 3, "minute", "step 61 is larger than the 60 values", "1 to 60"},
      {"0 */25 * * *", 5, "hour", "step 25 is larger than the 24 values", "1 to 24"},
      {"0 0 * * */8", 11, "day of week", "step 8 is larger than the 7 values", "1 to 7"},
      {"0 5-9/6 * * *", 7, "hour", "step 6 is larger than the 5 values", "1 to 5"},
      {"1,30/90 * * * *", 6, "minute", "step 90 is larger", "1 to 60"},
      {"*/100 * * * *", 3, "minute", "\"100\" has more than two digits", "1 to 60"},
      {"*/5/2 * * * *", 3, "minute", "\"5/2\" is not a number", "1 to 60"},
      {"1,,2 * * * *", 3, "minute", "empty", "lists"},
      {"1, * * * *", 3, "minute", "empty", "lists"},
      {"1- * * * *", 3, "minute", "missing", "ranges"},
      {"-5 * * * *", 1, "minute", "missing", "ranges"},
      {"+5 * * * *", 1, "minute", "\"+5\" is not a value", "0-59"},
      {"007 * * * *", 1, "minute", "\"007\" is not a value", "0-59"},
      {"50-10 * * * *", 1, "minute", "reversed", "list"},
      {"0 0 * * FRI-TUE/2", 9, "day of week", "reversed", "list"},
      {"0 0 * * 1,mond", 11, "day of week", "\"mond\" is not a value", "SUN-SAT"},
      {"? * * * *", 1, "minute", "\"?\" is not a value", "0-59"},
      {"0 0 ?/2 * *", 5, "day of month", "\"?\" is not a value", "1-31"},
      {"0 0 31 4 *", 5, "day of month", "never occurs", "29 February"},
      {"0 0 0 30 2 *", 7, "day of month", "never occurs", "29 February"},
      {"0 0 30 2 */2", 5, "day of month", "never occurs", "29 February"},
      {"* * * *", 8, "", "4 fields", "minute hour"},
      {"0 0 0 1 1 * 2026", 13, "", "7 fields", "seconds first"},
      {"0 9 * * *\n", 10, "", "not printable", "blanks or tabs"},
      {"0 9 * * \xC3\xA9", 9, "", "not printable", "ASCII"},
      {"CRON_TZ=UTC 0 9 * * *", 1, "", "time zone inside", "time zone field"},
      {"", 1, "", "empty", "5 fields"},
  };
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.text);
    const CronFault fault = fault_of(refusal.text);
    EXPECT_EQ(fault.position + 1, refusal.position);
    EXPECT_EQ(fault.field, refusal.field);
    EXPECT_THAT(fault.fault, HasSubstr(refusal.fault));
    EXPECT_THAT(fault.allowed, HasSubstr(refusal.allowed));
    EXPECT_THAT(fault.message(), HasSubstr("position " + std::to_string(refusal.position)));
  }
}

TEST(CronExpr, OtherDialectsAreRefusedAsNotSupportedYet) {
  for (const char* text : {"0 0 L * *", "0 0 LW * *", "0 0 L-3 * *", "0 0 15W * *", "0 0 1-5W * *",
                           "0 0 * * 5L", "0 0 * * friL", "0 0 * * 1#1", "0 0 * * MON#2"}) {
    EXPECT_THAT(fault_of(text).fault, HasSubstr("not supported yet")) << text;
  }
  // Not of that form, and no names either.
  for (const char* text : {"0 0 * * L5", "0 0 * * lun", "L * * * *"}) {
    EXPECT_THAT(fault_of(text).fault, HasSubstr("is not a value")) << text;
  }
}

TEST(CronExpr, LengthIsBounded) {
  const std::string blanks(256 - 9, ' ');
  EXPECT_EQ(cron("* * * * *" + blanks), cron("* * * * *"));
  EXPECT_THAT(fault_of("* * * * * " + blanks).message(), HasSubstr("at most 256 bytes"));
  EXPECT_THAT(fault_of(std::string(1'000'000, '*')).message(), HasSubstr("at most 256 bytes"));
}

}  // namespace
}  // namespace rota::core
