// SPDX-License-Identifier: Apache-2.0
//
// The public job id: its form, its check character, one text per key.
#include "model/job_id.h"

#include <gtest/gtest.h>

#include <set>

namespace rota::model {
namespace {

TEST(JobId, RoundTripsInItsForm) {
  for (const std::uint32_t queue : {1U, 127U, 128U, 70'000U, UINT32_MAX}) {
    for (const int priority : {0, 1, 100, 255}) {
      for (const std::uint64_t seq :
           {std::uint64_t{1}, std::uint64_t{300}, std::uint64_t{1} << 40U, UINT64_MAX}) {
        const JobKey key{queue, static_cast<std::uint8_t>(priority), seq};
        const std::string id = job_id(key);
        EXPECT_TRUE(is_job_id_form(id)) << id;
        EXPECT_LE(id.size(), 32U);
        EXPECT_EQ(parse_job_id(id), key);
      }
    }
  }
}

TEST(JobId, OtherTextHasNotTheForm) {
  for (const char* text : {"", "ABC", "a-b", "a b", "a/b", "\xc3\xa9", "a\n"}) {
    EXPECT_FALSE(is_job_id_form(text)) << text;
    EXPECT_FALSE(parse_job_id(text).has_value());
  }
  EXPECT_FALSE(is_job_id_form(std::string(33, 'a')));
  EXPECT_FALSE(is_job_id_form(std::string_view("a\0b", 3)));
}

TEST(JobId, OneWrongCharacterNamesNothing) {
  const std::string alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (const JobKey key : {JobKey{1, 100, 1}, JobKey{3, 7, 123'456}, JobKey{900, 255, 5}}) {
    const std::string good = job_id(key);
    for (std::size_t i = 0; i < good.size(); ++i) {
      for (const char c : alphabet) {
        if (c == good[i]) continue;
        std::string bad = good;
        bad[i] = c;
        EXPECT_FALSE(parse_job_id(bad).has_value()) << good << " " << bad;
      }
    }
  }
}

TEST(JobId, SwappedNeighboursNameNothing) {
  for (std::uint64_t seq = 1; seq < 2'000; seq += 7) {
    const std::string good = job_id({2, 100, seq});
    for (std::size_t i = 1; i < good.size(); ++i) {
      if (good[i] == good[i - 1]) continue;
      std::string bad = good;
      std::swap(bad[i], bad[i - 1]);
      EXPECT_FALSE(parse_job_id(bad).has_value()) << good << " " << bad;
    }
  }
}

TEST(JobId, EveryTextOfAShortLengthIsEitherCanonicalOrNothing) {
  const std::string alphabet = "0123456789abcdefghijklmnopqrstuvwxyz";
  int known = 0;
  std::string text(4, '0');
  for (std::size_t n = 0; n < 36UL * 36 * 36 * 36; n += 11) {
    std::size_t rest = n;
    for (char& c : text) {
      c = alphabet[rest % 36];
      rest /= 36;
    }
    if (const auto key = parse_job_id(text)) {
      ++known;
      EXPECT_EQ(job_id(*key), text);
    }
  }
  EXPECT_EQ(known, 0);  // three digits hold 15 bits: no key is that short
}

TEST(JobId, IdsDiffer) {
  std::set<std::string> ids;
  for (std::uint32_t queue = 1; queue < 20; ++queue) {
    for (std::uint64_t seq = 1; seq < 300; ++seq) {
      EXPECT_TRUE(ids.insert(job_id({queue, 100, seq})).second);
    }
  }
}

}  // namespace
}  // namespace rota::model
