// SPDX-License-Identifier: Apache-2.0
//
// What the fault layer itself must be able to do: lose what was not synced and nothing else, count
// a second sync, and see a wrong answer. The faults themselves are run by rota-store-faults.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "conformance/store_files.h"
#include "faults/campaign.h"
#include "faults/fault_files.h"

namespace rota::faults {
namespace {

namespace fs = std::filesystem;
using ::rota::testing::TempDirectory;
using ::testing::HasSubstr;

class FaultDiskTest : public ::testing::Test {
 protected:
  std::shared_ptr<FaultDisk> disk(DiskPlan plan) {
    return std::make_shared<FaultDisk>(plan, directory_ / "graveyard", &facts_);
  }
  std::string path(const std::string& name) { return directory_ / ("db/" + name); }
  static std::unique_ptr<rocksdb::FSWritableFile> create(FaultDisk& disk, const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(disk.NewWritableFile(name, {}, &file, nullptr).ok());
    return file;
  }
  static void sync_directory(FaultDisk& disk, const std::string& name) {
    std::unique_ptr<rocksdb::FSDirectory> directory;
    ASSERT_TRUE(disk.NewDirectory(name, {}, &directory, nullptr).ok());
    ASSERT_TRUE(directory->Fsync({}, nullptr).ok());
  }
  void SetUp() override { fs::create_directories(directory_ / "db"); }

  TempDirectory directory_;
  DiskFacts facts_;
};

// Whatever the seed: what was synced is there, what was not is there, partly there, or gone.
TEST_F(FaultDiskTest, APowerLossTakesOnlyWhatWasNotSynced) {
  std::set<std::string> tails;
  std::set<bool> entries;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    fs::remove_all(directory_ / "db");
    fs::remove_all(directory_ / "graveyard");
    fs::create_directories(directory_ / "db");
    DiskPlan plan;
    plan.seed = seed;
    const auto faulty = disk(plan);
    auto file = create(*faulty, path("file"));
    ASSERT_TRUE(file->Append("synced", {}, nullptr).ok());
    ASSERT_TRUE(file->Sync({}, nullptr).ok());
    auto gone = create(*faulty, path("gone"));
    sync_directory(*faulty, directory_ / "db");
    ASSERT_TRUE(faulty->DeleteFile(path("gone"), {}, nullptr).ok());
    sync_directory(*faulty, directory_ / "db");
    ASSERT_TRUE(file->Append("tail", {}, nullptr).ok());
    auto fresh = create(*faulty, path("fresh"));
    ASSERT_TRUE(fresh->Append("fresh", {}, nullptr).ok());
    ASSERT_TRUE(fresh->Sync({}, nullptr).ok());
    faulty->cut_power();
    const std::string left = rota::testing::read_file(path("file"));
    ASSERT_EQ(left.substr(0, 6), "synced");
    ASSERT_LE(left.size(), 10U);
    tails.insert(left.substr(6));
    entries.insert(fs::exists(path("fresh")));
    EXPECT_FALSE(fs::exists(path("gone"))) << "deleted and synced";
  }
  EXPECT_TRUE(tails.count("") == 1 && tails.count("tail") == 1 && tails.count("ta") == 1);
  EXPECT_EQ(entries.size(), 2U) << "an entry that was not synced may go and may stay";
}

TEST_F(FaultDiskTest, EntriesAreUndoneFromTheLastOneBackwards) {
  bool undone = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    fs::remove_all(directory_ / "db");
    fs::remove_all(directory_ / "graveyard");
    fs::create_directories(directory_ / "db");
    rota::testing::write_file(path("old"), "old");
    DiskPlan plan;
    plan.seed = seed;
    const auto faulty = disk(plan);
    auto file = create(*faulty, path("draft"));
    ASSERT_TRUE(file->Append("new", {}, nullptr).ok());
    ASSERT_TRUE(file->Sync({}, nullptr).ok());
    ASSERT_TRUE(faulty->RenameFile(path("draft"), path("old"), {}, nullptr).ok());
    EXPECT_EQ(rota::testing::read_file(path("old")), "new");
    faulty->cut_power();
    const std::string left = rota::testing::read_file(path("old"));
    EXPECT_TRUE(left == "old" || left == "new") << left;
    undone = undone || left == "old";
  }
  EXPECT_TRUE(undone);
}

// A sync that was forgotten must show, also where another directory was synced.
TEST_F(FaultDiskTest, ASyncOfADirectoryKeepsOnlyItsOwnEntries) {
  const std::string other = directory_ / "other";
  bool undone = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const std::string& folder : {directory_ / "db", other, directory_ / "graveyard"}) {
      fs::remove_all(folder);
      fs::create_directories(folder);
    }
    DiskPlan plan;
    plan.seed = seed;
    const auto faulty = disk(plan);
    create(*faulty, path("synced"));
    ASSERT_TRUE(faulty->LinkFile(path("synced"), path("linked"), {}, nullptr).ok());
    create(*faulty, other + "/forgotten");
    sync_directory(*faulty, (directory_ / "db") + "/");
    faulty->cut_power();
    EXPECT_TRUE(fs::exists(path("synced")));
    EXPECT_TRUE(fs::exists(path("linked")));
    undone = undone || !fs::exists(other + "/forgotten");
  }
  EXPECT_TRUE(undone);
}

// Whatever changes the disk is one of the calls that can fail.
TEST_F(FaultDiskTest, LinksTruncationsReopenedFilesAndDirectoriesAreRefusedToo) {
  rota::testing::write_file(path("there"), "0123456789");
  const auto full = disk({Fault::kNoSpace, Op::kCreate, 1, true, 1, true});
  std::unique_ptr<rocksdb::FSWritableFile> file;
  EXPECT_TRUE(full->ReopenWritableFile(path("there"), {}, &file, nullptr).IsNoSpace());
  EXPECT_TRUE(full->LinkFile(path("there"), path("link"), {}, nullptr).IsNoSpace());
  EXPECT_TRUE(full->Truncate(path("there"), 3, {}, nullptr).IsNoSpace());
  EXPECT_TRUE(full->CreateDir(path("folder"), {}, nullptr).IsNoSpace());
  EXPECT_TRUE(full->CreateDirIfMissing(path("folder"), {}, nullptr).IsNoSpace());
  EXPECT_EQ(rota::testing::read_file(path("there")), "0123456789");
  EXPECT_FALSE(fs::exists(path("link")));
  EXPECT_FALSE(fs::exists(path("folder")));
  EXPECT_EQ(facts_.fired, 5U);
}

// What a file held before it was opened to be written on is not lost with what is added.
TEST_F(FaultDiskTest, OfAReopenedFileOnlyWhatWasAddedIsLost) {
  bool lost = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    rota::testing::write_file(path("there"), "old");
    DiskPlan plan;
    plan.seed = seed;
    const auto faulty = disk(plan);
    std::unique_ptr<rocksdb::FSWritableFile> file;
    ASSERT_TRUE(faulty->ReopenWritableFile(path("there"), {}, &file, nullptr).ok());
    ASSERT_TRUE(file->Append("new", {}, nullptr).ok());
    ASSERT_TRUE(file->Flush({}, nullptr).ok());
    faulty->cut_power();
    const std::string left = rota::testing::read_file(path("there"));
    EXPECT_EQ(left.substr(0, 3), "old");
    lost = lost || left == "old";
  }
  EXPECT_TRUE(lost);
}

TEST_F(FaultDiskTest, TheNthCallFailsOnceOrFromThenOnAndASecondSyncIsCounted) {
  for (const bool lasting : {false, true}) {
    for (auto& calls : facts_.calls) calls = 0;
    facts_.fired = 0;
    facts_.second_syncs = 0;
    const auto faulty = disk({Fault::kIo, Op::kSync, 2, lasting, 1});
    auto one = create(*faulty, path("one"));
    auto two = create(*faulty, path("two"));
    EXPECT_TRUE(one->Sync({}, nullptr).ok());
    EXPECT_TRUE(one->Sync({}, nullptr).IsIOError());
    EXPECT_EQ(two->Sync({}, nullptr).ok(), !lasting);
    EXPECT_EQ(facts_.second_syncs, 0U);
    EXPECT_TRUE(one->Sync({}, nullptr).ok()) << "the kernel has forgotten the failure";
    EXPECT_EQ(facts_.second_syncs, 1U);
    EXPECT_THAT(facts_.file.data(), HasSubstr("one"));
  }
}

// ---- the store's own files ----------------------------------------------------------------------

void write(const std::shared_ptr<store::OwnFiles>& files, const store::OwnFile& file,
           const std::string& bytes) {
  ASSERT_EQ(files->pwrite(file.fd(), bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
}

// Bytes that replaced others come back, entries and folders go; what was synced stays.
TEST_F(FaultDiskTest, OfTheStoresOwnFilesAPowerLossTakesOnlyWhatWasNotSynced) {
  std::set<std::string> contents;
  std::set<bool> folders;
  for (const bool killed_before : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      for (const std::string& folder : {directory_ / "db", directory_ / "graveyard"}) {
        fs::remove_all(folder);
        fs::create_directories(folder);
      }
      DiskPlan plan;
      plan.seed = seed;
      const auto work = [&](const std::shared_ptr<FaultDisk>& faulty) {
        const auto files = own_files(faulty);
        const store::OwnFile file(files, path("file"), O_RDWR | O_CREAT, 0600);
        write(files, file, "first");
        EXPECT_EQ(files->fdatasync(file.fd()), 0);
        EXPECT_FALSE(store::sync_directory(files, directory_ / "db"));
        write(files, file, "again");
        EXPECT_EQ(files->mkdir(path("folder"), 0700), 0);
        const store::OwnFile fresh(files, path("folder/fresh"), O_RDWR | O_CREAT, 0600);
        EXPECT_EQ(files->link(path("file"), path("folder/link")), 0);
        EXPECT_EQ(files->unlink(path("folder/link")), 0);
      };
      if (killed_before) {
        // Another disk goes on where the process was killed, and loses what that one left.
        const pid_t pid = ::fork();
        ASSERT_GE(pid, 0);
        if (pid == 0) {
          DiskPlan kill = plan;
          kill.fault = Fault::kKilled;
          kill.any_op = true;
          kill.nth = 1;
          kill.file = "/the end";
          facts_.all_calls = 0;
          const auto faulty = disk(kill);
          work(faulty);
          own_files(faulty)->mkdir(path("the end"), 0700);
          ::_exit(0);
        }
        int status = 0;
        ::waitpid(pid, &status, 0);
        ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kKilled);
        EXPECT_EQ(rota::testing::read_file(path("file")), "again") << "the kernel has it";
        disk(plan)->cut_power();
      } else {
        const auto faulty = disk(plan);
        work(faulty);
        faulty->cut_power();
      }
      const std::string left = rota::testing::read_file(path("file"));
      ASSERT_EQ(left.size(), 5U);
      contents.insert(left);
      folders.insert(fs::exists(path("folder")));
      EXPECT_FALSE(fs::exists(path("the end")));
    }
  }
  EXPECT_TRUE(contents.count("first") == 1 && contents.count("again") == 1);
  EXPECT_GT(contents.size(), 2U) << "a write may be torn";
  EXPECT_EQ(folders.size(), 2U);
}

TEST_F(FaultDiskTest, OfTheStoresOwnFilesOneIsStruckAndASecondSyncIsCounted) {
  DiskPlan plan{Fault::kIo, Op::kSync, 2, false, 1, false, "/one"};
  const auto files = own_files(disk(plan));
  const store::OwnFile one(files, path("one"), O_RDWR | O_CREAT, 0600);
  const store::OwnFile two(files, path("two"), O_RDWR | O_CREAT, 0600);
  EXPECT_EQ(files->fdatasync(one.fd()), 0);
  EXPECT_EQ(files->fdatasync(two.fd()), 0);
  EXPECT_EQ(files->fsync(two.fd()), 0);
  EXPECT_EQ(files->fdatasync(one.fd()), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(facts_.second_syncs, 0U);
  EXPECT_EQ(files->fdatasync(one.fd()), 0) << "the kernel has forgotten the failure";
  EXPECT_EQ(facts_.second_syncs, 1U);
  EXPECT_THAT(facts_.file.data(), HasSubstr("/one"));
  EXPECT_EQ(facts_.fired, 1U);
}

TEST(SpreadTest, VisitsEveryPointOnce) {
  for (const std::uint64_t points : {1U, 2U, 3U, 10U, 477U, 4000U}) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < points; ++i) seen.insert(spread(i, points, 12345));
    EXPECT_EQ(seen.size(), points);
    EXPECT_LT(*seen.rbegin(), points);
  }
}

TEST(WorkloadTest, TheSeedDecidesHowManyAndHowLargeTheRowsAre) {
  const auto sizes = [](std::uint64_t seed) {
    std::vector<std::size_t> found;
    for (const auto& [key, value] : rows_after(seed, 60)) found.push_back(value.size());
    return found;
  };
  EXPECT_EQ(sizes(1), sizes(1));
  std::set<std::vector<std::size_t>> different;
  std::set<std::size_t> buffers;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    different.insert(sizes(seed));
    buffers.insert(small_sizes(seed).write_buffers_bytes);
  }
  EXPECT_EQ(different.size(), 8U);
  EXPECT_GT(buffers.size(), 5U);
}

TEST(ImageTest, EachKindIsWhatItsNameSays) {
  const TempDirectory directory;
  constexpr std::uint64_t kSeed = 7;
  Bench bench(directory / "bench", kSeed);
  const Image closed = bench.make_image(ImageKind::kClosed);
  EXPECT_EQ(closed.witness, closed.acked);
  const Image crashed = bench.make_image(ImageKind::kCrashed);
  EXPECT_LT(crashed.witness, crashed.acked);
  EXPECT_EQ(crashed.acked, crashed.submitted);
  const Image restarted = bench.make_image(ImageKind::kRestarted);
  EXPECT_LE(restarted.places.size(), 3U);
  const Image half = bench.make_image(ImageKind::kHalfFlushed);
  EXPECT_TRUE(is_half_flushed(half, kSeed));
  EXPECT_LT(half.payload_log, half.state_log);
  EXPECT_FALSE(is_half_flushed(restarted, kSeed));
  const Image torn = bench.make_image(ImageKind::kTorn);
  EXPECT_EQ(torn.acked + 1, torn.submitted);
  EXPECT_LE(torn.witness, torn.acked);
}

// Two logs: batches 5 and 6 of 100 bytes each in the first one, 7 to 9 in the second, behind 50
// bytes of an open.
class LeastAllowedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(directory_ / "db");
    rota::testing::write_file(directory_ / "db/000003.log", std::string(200, 'x'));
    rota::testing::write_file(directory_ / "db/000004.log", std::string(350, 'x'));
    rota::testing::write_file(directory_ / "acked_seq", "x");
    image_.folder = directory_ / "";
    image_.acked = image_.submitted = 9;
    image_.witness = 4;
    image_.places = {
        {5, 3, 0, 100}, {6, 3, 100, 200}, {7, 4, 50, 150}, {8, 4, 150, 250}, {9, 4, 250, 350}};
  }
  core::CommitSeq least(Damage::Kind kind, std::uint64_t offset) {
    return least_allowed(image_, {kind, "db/000004.log", offset, 0});
  }

  using Kind = Damage::Kind;
  TempDirectory directory_;
  Image image_;
};

TEST_F(LeastAllowedTest, ALogThatEndsEarlyMayBeTheCrashOfTheBatchThere) {
  for (const Kind kind : {Kind::kCut, Kind::kZeroRest, Kind::kNoiseRest}) {
    EXPECT_EQ(least(kind, 0), 6U);
    EXPECT_EQ(least(kind, 149), 6U);
    EXPECT_EQ(least(kind, 150), 7U);
    EXPECT_EQ(least(kind, 349), 8U);
    EXPECT_EQ(least(kind, 350), 9U);
  }
  EXPECT_EQ(least(Kind::kMissing, 0), 6U);
}

TEST_F(LeastAllowedTest, ButNotWhereAWholeBatchFollows) {
  EXPECT_EQ(least(Kind::kFlip, 249), 9U);
  EXPECT_EQ(least(Kind::kFlip, 250), 8U);
  EXPECT_EQ(least(Kind::kFlip, 20), 9U) << "what an open wrote is no batch";
  EXPECT_EQ(least(Kind::kZeroPage, 200), 7U) << "the page reaches to the end";
  EXPECT_EQ(least(Kind::kTornRecord, 0), 9U);
}

TEST_F(LeastAllowedTest, NorWhatTheWitnessKnowsNorInAnotherFile) {
  EXPECT_EQ(least_allowed(image_, {Kind::kMissing, "db/000003.log", 0, 0}), 9U);
  EXPECT_EQ(least_allowed(image_, {Kind::kCut, "db/000003.log", 150, 0}), 9U);
  EXPECT_EQ(least_allowed(image_, {Kind::kMissing, "acked_seq", 0, 0}), 9U);
  EXPECT_EQ(least_allowed(image_, {}), 9U);
  image_.witness = 8;
  EXPECT_EQ(least(Kind::kCut, 0), 8U);
  image_.witness = 9;
  EXPECT_EQ(least(Kind::kFlip, 300), 9U);
}

// A run that cannot fail shows nothing.
TEST(CheckerTest, APlantedWrongAnswerIsSeen) {
  const TempDirectory directory;
  Bench bench(directory / "bench", 7);
  const Verdict verdict = bench.planted_wrong_answer();
  EXPECT_EQ(verdict.kind, Verdict::Kind::kWrong);
  EXPECT_THAT(verdict.text, HasSubstr(" is lost"));
}

TEST(CheckerTest, ALostAcknowledgedBatchIsSeen) {
  const TempDirectory directory;
  Bench bench(directory / "bench", 7);
  Image image = bench.make_image(ImageKind::kClosed);
  const auto log = files_of(
      image, [](const std::string& name) { return name.find(".log") != std::string::npos; });
  ASSERT_FALSE(log.empty());
  const Damage none{Damage::Kind::kCut, log.back(), UINT64_MAX, 0};
  EXPECT_EQ(bench.damage(image, none, false).kind, Verdict::Kind::kRecovered);
  image.acked += 1;  // as if a client had been told of one more
  const Verdict verdict = bench.damage(image, none, false);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kWrong);
  EXPECT_THAT(verdict.text, HasSubstr("acknowledged"));
}

// What is not acknowledged as far as the files can tell has a name of its own.
TEST(CheckerTest, ABatchThatTheFilesCannotMissIsCountedApart) {
  const TempDirectory directory;
  Bench bench(directory / "bench", 7);
  const Image image = bench.make_image(ImageKind::kCrashed);
  const BatchPlace last = image.places.back();
  const Damage cut{Damage::Kind::kCut, image.last_log(), last.begin + 1, 0};
  ASSERT_EQ(least_allowed(image, cut), image.acked - 1);
  EXPECT_EQ(bench.damage(image, cut, false).kind, Verdict::Kind::kAsTorn);
  Image known = image;
  known.witness = image.acked;  // as if the oracle knew better than the file
  const Verdict verdict = bench.damage(known, cut, false);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kWrong);
  EXPECT_THAT(verdict.text, HasSubstr("opened at batch " + std::to_string(image.acked - 1)));
  EXPECT_THAT(verdict.text, HasSubstr("cut off at " + std::to_string(last.begin + 1)));
}

TEST(CheckerTest, ARecoveryThatComesToAnotherEndAfterAFaultIsSeen) {
  const TempDirectory directory;
  Bench bench(directory / "bench", 7);
  const Image image = bench.make_image(ImageKind::kTorn);
  Recovery recovery = bench.learn_recovery(image, "ended log", {});
  ASSERT_EQ(recovery.verdict.kind, Verdict::Kind::kRecovered);
  ASSERT_GT(recovery.calls, 20U);
  DiskPlan plan;
  plan.fault = Fault::kKilled;
  plan.nth = recovery.calls / 2;
  EXPECT_EQ(bench.recovery_fault(image, recovery, plan).kind, Verdict::Kind::kRecovered);
  plan.nth = recovery.calls * 2;
  EXPECT_EQ(bench.recovery_fault(image, recovery, plan).kind, Verdict::Kind::kNoFault);
  plan.nth = recovery.calls / 2;
  recovery.seq += 1;  // as if a batch more were there without the fault
  EXPECT_EQ(bench.recovery_fault(image, recovery, plan).kind, Verdict::Kind::kWrong);
  recovery.verdict.kind = Verdict::Kind::kRefused;
  const Verdict verdict = bench.recovery_fault(image, recovery, plan);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kWrong);
  EXPECT_THAT(verdict.text, HasSubstr("opened, although it is refused"));
}

TEST(CheckerTest, ALossThatComesBackByAnotherNumberIsSeen) {
  const TempDirectory directory;
  Bench bench(directory / "bench", 7);
  const Image image = bench.make_image(ImageKind::kClosed);
  const BatchPlace last = image.places.back();
  Loss loss =
      bench.learn_loss(image, "cut log", {Damage::Kind::kCut, image.last_log(), last.begin + 1, 0});
  ASSERT_EQ(loss.verdict.kind, Verdict::Kind::kRecovered) << loss.verdict.text;
  ASSERT_EQ(loss.good, image.acked - 1);
  ASSERT_GT(loss.calls, 20U);
  DiskPlan plan;
  plan.fault = Fault::kKilled;
  plan.any_op = true;
  plan.nth = 1;
  EXPECT_EQ(bench.loss_fault(image, loss, plan).kind, Verdict::Kind::kRefused);
  plan.nth = loss.calls;  // the end of a close
  EXPECT_EQ(bench.loss_fault(image, loss, plan).kind, Verdict::Kind::kRecovered);
  plan.nth = 1;
  loss.good -= 1;  // as if another number had been named
  const Verdict verdict = bench.loss_fault(image, loss, plan);
  EXPECT_EQ(verdict.kind, Verdict::Kind::kWrong);
  EXPECT_THAT(verdict.text, HasSubstr("not with the number " + std::to_string(loss.good)));
}

TEST(CheckerTest, ACreationThatIsCutShortAtItsEndsIsFinished) {
  const TempDirectory directory;
  Bench bench(directory / "bench", 7);
  const Bench::Calls calls = bench.count_creation();
  ASSERT_GT(calls.all, 40U);
  DiskPlan plan;
  plan.any_op = true;
  for (const Fault fault : {Fault::kKilled, Fault::kPowerLoss, Fault::kIo}) {
    plan.fault = fault;
    for (plan.nth = calls.all - 12; plan.nth <= calls.all; ++plan.nth) {
      DiskPlan again;  // loses its power when the creation is finished
      again.seed = plan.seed = plan.nth;
      const Verdict verdict = bench.creation_fault(plan, again);
      EXPECT_EQ(verdict.kind, Verdict::Kind::kRecovered) << plan.nth << ": " << verdict.text;
    }
  }
  plan.nth = calls.all * 2;
  EXPECT_EQ(bench.creation_fault(plan, {}).kind, Verdict::Kind::kNoFault);
}

TEST(CheckerTest, WithoutAFaultTheWorkMeetsNoneAndFlushesAndCompactsAndReads) {
  const TempDirectory directory;
  Bench bench(directory / "bench", 7);
  const Bench::Calls calls = bench.count_calls();
  ASSERT_GT(calls.all, 200U);
  for (std::size_t i = 0; i < kOps; ++i) EXPECT_GT(calls.of[i], 0U) << op_name(static_cast<Op>(i));
}

}  // namespace
}  // namespace rota::faults
