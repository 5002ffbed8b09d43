// SPDX-License-Identifier: Apache-2.0
//
// Room on the disk: the limits, and the ballast that lets a full store be drained.
#include "store/space_watch.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "conformance/store_box.h"
#include "conformance/store_files.h"
#include "store/rocks_open.h"

namespace rota::testing {
namespace {

namespace fs = std::filesystem;
using core::Keyspace;
using core::Outcome;
using core::Pressure;
using store::FailureKind;

constexpr std::uint64_t kMiB = 1U << 20;

class SpaceWatchTest : public ::testing::Test {
 protected:
  SpaceWatchTest() {
    sizes_.low_space_bytes = 40 * kMiB;
    sizes_.no_space_bytes = 10 * kMiB;
    sizes_.open_space_bytes = 2 * kMiB;
    sizes_.ballast_bytes = 16 * kMiB;
    options_.directory = directory_ / "data";
    options_.sizes = sizes_;
    options_.free_bytes = [this] { return free(); };
  }
  // A disk of which the ballast takes its part.
  std::optional<std::uint64_t> free() const {
    const bool held = fs::exists(ballast()) && fs::file_size(ballast()) > 0;
    return held ? others_free_ : others_free_ + 16 * kMiB;
  }
  std::string ballast() const { return options_.directory + "/ballast"; }
  std::unique_ptr<core::ShardStore> open() {
    auto result = store::open_store(options_, executor_);
    if (result.failure) ADD_FAILURE() << result.failure->describe();
    info_ = result.info;
    return std::move(result.store);
  }

  TempDirectory directory_;
  store::StoreSizes sizes_;
  store::OpenOptions options_;
  store::StoreInfo info_;
  core::InlineExecutor executor_;
  std::uint64_t others_free_ = 1000 * kMiB;  // with the ballast there
};

TEST_F(SpaceWatchTest, TheBallastTakesItsRoomAndGoesWithItsOption) {
  open();
  EXPECT_FALSE(info_.gave_up_ballast);
  EXPECT_EQ(info_.no_ballast, "");
  struct stat status {};
  ASSERT_EQ(::stat(ballast().c_str(), &status), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(status.st_size), 16 * kMiB);
  EXPECT_GE(static_cast<std::uint64_t>(status.st_blocks) * 512, 16 * kMiB)
      << "a hole holds nothing";
  // What a process that was killed while it reserved the room has left.
  std::ofstream(ballast() + ".new") << "room";
  options_.sizes.ballast_bytes = 4 * kMiB;
  open();
  EXPECT_EQ(fs::file_size(ballast()), 4 * kMiB);
  std::ofstream(ballast() + ".new") << "room";
  open();
  EXPECT_FALSE(fs::exists(ballast() + ".new")) << "nobody would ever give it up";
  options_.sizes.ballast_bytes = 0;
  open();
  EXPECT_FALSE(fs::exists(ballast()));
}

TEST_F(SpaceWatchTest, AFullDiskIsOpenedWithoutTheBallastAndDrained) {
  {
    auto store = open();
    Driver driver(*store);
    driver.commit([](core::Batch& b) { b.put(Keyspace::kJob, "a", "1"); });
    EXPECT_EQ(store->pressure(), Pressure::kOk);
    store->close();
  }
  others_free_ = 3 * kMiB;  // below the hard limit
  {
    auto store = open();
    EXPECT_TRUE(info_.gave_up_ballast);
    EXPECT_EQ(fs::file_size(ballast()), 0U);
    EXPECT_EQ(store->pressure(), Pressure::kRefuseNew) << "drained, not filled again";
    Driver driver(*store);
    EXPECT_EQ(driver.commit([](core::Batch& b) { b.del(Keyspace::kJob, "a"); }),
              Outcome::kCommitted);
    store->close();
  }
  // A restart while it is drained goes on with that, or what was given up would be filled again and
  // the disk be full for good.
  others_free_ = 30 * kMiB;
  {
    auto store = open();
    EXPECT_TRUE(info_.gave_up_ballast);
    EXPECT_EQ(store->pressure(), Pressure::kRefuseNew);
    store->close();
  }
  // The next time there is nothing to give up: 1 MiB more has gone, and the store stays shut.
  others_free_ = 1 * kMiB;
  auto refused = [&] {
    others_free_ = 0;
    options_.sizes.open_space_bytes = 20 * kMiB;
    auto result = store::open_store(options_, executor_);
    options_.sizes.open_space_bytes = 2 * kMiB;
    return result.failure;
  }();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, FailureKind::kDiskFull);
  EXPECT_EQ(refused->exit_code(), 73);
  // Healthy again.
  others_free_ = 1000 * kMiB;
  auto store = open();
  EXPECT_FALSE(info_.gave_up_ballast);
  EXPECT_TRUE(fs::exists(ballast()));
  EXPECT_EQ(store->pressure(), Pressure::kOk);
}

TEST_F(SpaceWatchTest, NoBallastIsMadeWhereItWouldMakeTheDiskFull) {
  others_free_ = 30 * kMiB;  // 46 MiB without a ballast: above the soft limit, with one below it
  auto store = open();
  EXPECT_FALSE(fs::exists(ballast()));
  EXPECT_FALSE(info_.gave_up_ballast);
  EXPECT_EQ(store->pressure(), Pressure::kOk);
  others_free_ = 1000 * kMiB;
  store.reset();
  options_.read_only = true;
  open();
  EXPECT_FALSE(fs::exists(ballast())) << "looking changes nothing";
}

// The watch alone, to which each change of the number of flushes is a reason to look.
TEST_F(SpaceWatchTest, LimitsAreLookedAtAfterEachFlushAndDrainingEndsWithRoomForABallast) {
  fs::create_directories(options_.directory);
  {
    store::Ballast made(options_.directory, 16 * kMiB);
    ASSERT_FALSE(made.make());
  }
  std::uint64_t now = 9 * kMiB;
  store::SpaceWatch watch(sizes_, store::Ballast(options_.directory, 16 * kMiB),
                          [&] { return std::optional(now); });
  ASSERT_FALSE(watch.make_room(options_.directory));
  EXPECT_TRUE(watch.gave_up_ballast());
  std::uint64_t flushes = 0;
  const auto at = [&](std::uint64_t free_bytes) {
    now = free_bytes;
    return watch.pressure(++flushes);
  };
  EXPECT_EQ(at(9 * kMiB), Pressure::kReadOnly);
  EXPECT_EQ(at(25 * kMiB), Pressure::kRefuseNew);
  EXPECT_EQ(at(50 * kMiB), Pressure::kRefuseNew) << "above the soft limit, but drained first";
  EXPECT_FALSE(watch.tend_ballast());
  EXPECT_EQ(fs::file_size(ballast()), 0U);
  store::SpaceWatch after_restart(sizes_, store::Ballast(options_.directory, 16 * kMiB),
                                  [&] { return std::optional(now); });
  ASSERT_FALSE(after_restart.make_room(options_.directory));
  EXPECT_EQ(after_restart.pressure(0), Pressure::kRefuseNew) << "the drain goes on";
  EXPECT_EQ(at(56 * kMiB), Pressure::kOk);
  EXPECT_FALSE(watch.tend_ballast());
  EXPECT_EQ(fs::file_size(ballast()), 16 * kMiB);
  EXPECT_EQ(at(39 * kMiB), Pressure::kRefuseNew);
  now = 9 * kMiB;
  EXPECT_EQ(watch.pressure(flushes), Pressure::kRefuseNew) << "asked once a second without a flush";
  EXPECT_EQ(at(9 * kMiB), Pressure::kReadOnly);
  EXPECT_EQ(fs::file_size(ballast()), 16 * kMiB) << "only an open gives it up";
}

}  // namespace
}  // namespace rota::testing
