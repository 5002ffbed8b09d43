// SPDX-License-Identifier: Apache-2.0
//
// The window template alone: its invariant is "every live key below the limit is inside".
#include "core/window.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace rota::core {
namespace {

using W = Window<int, int>;

TEST(Window, HoldsEverythingUntilItIsTooFull) {
  W w;
  for (int k = 0; k < 5; ++k) w.offer(k, k, 1);
  EXPECT_TRUE(w.covers_all());
  w.shrink(3);
  EXPECT_EQ(w.size(), 3U);
  EXPECT_EQ(w.limit(), 3);
  EXPECT_TRUE(w.covers(2));
  EXPECT_FALSE(w.covers(3));
  w.offer(4, 4, 1);
  EXPECT_EQ(w.size(), 3U);  // beyond the limit: the store has it
  w.offer(-1, 0, 1);
  EXPECT_EQ(w.front_key(), -1);
}

TEST(Window, SeveralCountTheirBytesTogether) {
  std::size_t total = 0;
  W a(&total);
  {
    W b(&total);
    for (int k = 0; k < 10; ++k) a.offer(k, k, 10);
    b.offer(1, 1, 7);
    EXPECT_EQ(total, 107U);
    b.offer(1, 1, 5);  // instead of the other
    EXPECT_EQ(total, 105U);
    a.shrink(4);
    a.pop();
    a.erase(1);
    a.erase(9);  // is not inside any more
    EXPECT_EQ(total, 25U);
    a.begin_refill();
    a.offer(7, 7, 3);
    a.offer(8, 8, 4);
    a.offer(30, 30, 50);
    EXPECT_EQ(total, 82U) << "what waits for the page counts too";
    ASSERT_TRUE(a.accept_page());
    a.offer_page(6, 6, 100);
    const int limit = 20;
    a.finish_refill(&limit);
    EXPECT_EQ(total, 20 + 100 + 3 + 4 + 5U);
    EXPECT_EQ(a.bytes(), total - 5);
    a.drop_tail(1);
    EXPECT_EQ(total, 15U);
  }
  EXPECT_EQ(total, 10U) << "one that is gone holds nothing";
}

TEST(Window, RefillJoinsThePageAndWhatCameMeanwhile) {
  W w;
  w.cover_none();
  w.begin_refill();
  w.offer(5, 50, 1);
  w.offer(9, 90, 1);
  w.erase(9);
  w.offer(20, 200, 1);
  ASSERT_TRUE(w.accept_page());
  w.offer_page(1, 10, 1);
  const int limit = 10;
  w.finish_refill(&limit);
  EXPECT_EQ(w.size(), 2U);
  EXPECT_NE(w.find(5), nullptr);
  EXPECT_EQ(w.find(20), nullptr);
  EXPECT_FALSE(w.refill_open());
}

TEST(Window, EvictionMakesAnOpenPageWorthless) {
  W w;
  for (int k = 0; k < 6; ++k) w.offer(k, k, 1);
  w.shrink(4);
  w.begin_refill();
  w.offer(-1, 0, 1);
  w.shrink(4);  // the limit is now below where the page begins
  EXPECT_FALSE(w.accept_page());
  w.abandon_refill();
  EXPECT_EQ(w.limit(), 3);
}

// Against a plain set, with pages that are read at one moment and arrive at another.
TEST(Window, FrontIsAlwaysTheTrueFirst) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 rng(seed);
    const auto dice = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
    std::size_t total = 0;
    W w(&total);
    w.cover_none();
    std::set<int> truth;
    for (int i = 0; i < 20; ++i) truth.insert(dice(100));
    const std::size_t rows = static_cast<std::size_t>(1 + dice(6));
    std::vector<int> page;
    int page_limit = 0;
    bool page_more = false;
    int from = 0;
    for (int step = 0; step < 2'000; ++step) {
      const int key = dice(100);
      switch (dice(6)) {
        case 0:
          if (truth.insert(key).second) w.offer(key, key, static_cast<std::size_t>(1 + dice(5)));
          break;
        case 1:
          truth.erase(key);
          w.erase(key);
          std::erase(page, key);  // what the overlay of changes does to a page
          break;
        case 2:
          w.shrink(rows);
          break;
        case 3:
          if (w.refill_open() || w.covers_all()) break;
          from = w.covers_none() ? -1 : w.limit();
          page.clear();
          page_more = false;
          for (auto it = truth.lower_bound(from); it != truth.end(); ++it) {
            if (page.size() == 3) {
              page_more = true;
              page_limit = *it;
              break;
            }
            page.push_back(*it);
          }
          w.begin_refill();
          break;
        case 4:
          if (dice(3) == 0) w.drop_tail(rows);
          break;
        default:
          if (!w.refill_open()) break;
          if (!w.accept_page()) {
            w.abandon_refill();
            break;
          }
          for (const int k : page) w.offer_page(k, k, 2);
          w.finish_refill(page_more ? &page_limit : nullptr);
          break;
      }
      for (const int k : truth) {
        ASSERT_TRUE(!w.covers(k) || w.find(k) != nullptr) << "seed " << seed << " step " << step;
      }
      for (const auto& [k, item] : w.items()) ASSERT_TRUE(truth.contains(k));
      ASSERT_TRUE(w.empty() || w.front_key() == *truth.begin());
      ASSERT_EQ(total, w.bytes());
    }
  }
}

}  // namespace
}  // namespace rota::core
