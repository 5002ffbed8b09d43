// SPDX-License-Identifier: Apache-2.0
#include "rota/text.h"

#include <gtest/gtest.h>

namespace rota::cli {
namespace {

TEST(Text, SpansHaveTwoUnitsAtMost) {
  EXPECT_EQ(span_text(0), "0 ms");
  EXPECT_EQ(span_text(350), "350 ms");
  EXPECT_EQ(span_text(1'000), "1 s");
  EXPECT_EQ(span_text(1'250), "1.2 s");
  EXPECT_EQ(span_text(42'900), "42 s");
  EXPECT_EQ(span_text(60'000), "1 min");
  EXPECT_EQ(span_text(90'000), "1 min 30 s");
  EXPECT_EQ(span_text((7 * 60 + 58) * 60'000LL + 30'000), "7 h 58 min");
  EXPECT_EQ(span_text(50 * 3'600'000LL), "2 d 2 h");
  EXPECT_EQ(span_text(365 * 86'400'000LL), "365 d");
  EXPECT_EQ(span_text(400 * 86'400'000LL), "400 d");
  EXPECT_EQ(span_text(366 * 86'400'000LL), "366 d");
  EXPECT_EQ(span_text(-90'000), "-1 min 30 s");
}

TEST(Text, TimesAreRelativeForPeople) {
  const std::int64_t now = 1'796'000'000'000;
  EXPECT_EQ(relative_text(now, now), "now");
  EXPECT_EQ(relative_text(now + 5'400, now), "in 5 s");
  EXPECT_EQ(relative_text(now - 180'000, now), "3 min ago");
}

TEST(Text, TheEpochIsATimeLikeAnyOther) {
  EXPECT_EQ(relative_text(0, 60'000), "1 min ago");
  google::protobuf::Timestamp time;
  EXPECT_EQ(time_text(time), "1970-01-01T00:00:00Z");
  put_time(-1'000, &time);
  EXPECT_EQ(time_text(time), "1969-12-31T23:59:59Z");
}

TEST(Text, LocalTimesLeaveOutSecondsThatAreZero) {
  EXPECT_EQ(local_text("2026-11-30T00:00:00+02:00"), "2026-11-30 00:00 +02:00");
  EXPECT_EQ(local_text("2026-11-30T00:00:07-03:30"), "2026-11-30 00:00:07 -03:30");
  EXPECT_EQ(local_text("2026-11-30T12:00:00Z"), "2026-11-30 12:00 +00:00");
  EXPECT_EQ(local_text("?"), "?");
}

TEST(Text, TimestampsBeforeTheEpochAreWellFormed) {
  google::protobuf::Timestamp time;
  put_time(-1, &time);
  EXPECT_EQ(time.seconds(), -1);
  EXPECT_EQ(time.nanos(), 999'000'000);
  EXPECT_EQ(to_ms(time), -1);
}

TEST(Text, ForeignTextCannotSteerTheTerminal) {
  EXPECT_EQ(printable("exit 3; stderr: \"no\" \xC3\xA4"), "exit 3; stderr: \"no\" \xC3\xA4");
  EXPECT_EQ(printable("a\x1b[31mb"), "\"a\\x1b[31mb\"");
  EXPECT_EQ(printable("a\nb"), "\"a\\x0ab\"");
  EXPECT_EQ(printable("\xFF"), "\"\\xff\"");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

TEST(Text, StatesAndOutcomesHaveTheirOwnWords) {
  EXPECT_EQ(state_name(v1::JOB_STATE_SUCCEEDED), "SUCCEEDED");
  EXPECT_EQ(outcome_text(v1::ATTEMPT_OUTCOME_TIMED_OUT), "timed_out");
  EXPECT_EQ(outcome_text(v1::ATTEMPT_OUTCOME_UNSPECIFIED), "running");
  EXPECT_EQ(state_text({.color = false}, v1::JOB_STATE_DEAD), "DEAD");
  EXPECT_EQ(state_text({.color = true}, v1::JOB_STATE_DEAD), "\x1b[31mDEAD\x1b[0m");
}

TEST(Text, CountsAndOrdinals) {
  EXPECT_EQ(count_of(1, "job"), "1 job");
  EXPECT_EQ(count_of(0, "job"), "0 jobs");
  EXPECT_EQ(ordinal(3), "third");
  EXPECT_EQ(ordinal(11), "11th");
  EXPECT_EQ(ordinal(21), "21st");
  EXPECT_EQ(ordinal(112), "112th");
  EXPECT_EQ(ordinal(102), "102nd");
}

TEST(Text, TablesAlignByWhatIsSeen) {
  Table table({"A", "B"});
  table.add({"\x1b[31mlong\x1b[0m", "x"});
  table.add({"\xC3\xA4", "y"});
  EXPECT_EQ(table.text(), "A     B\n\x1b[31mlong\x1b[0m  x\n\xC3\xA4     y\n");
  EXPECT_EQ(table.text(false), "\x1b[31mlong\x1b[0m  x\n\xC3\xA4     y\n");
}

}  // namespace
}  // namespace rota::cli
