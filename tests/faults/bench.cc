// SPDX-License-Identifier: Apache-2.0
#include "faults/bench.h"

#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/wal_filter.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <sstream>
#include <utility>
#include <variant>

#include "store/acked_seq.h"
#include "store/rocks_options.h"

namespace rota::faults {

namespace fs = std::filesystem;
using core::CommitSeq;
using Kind = Verdict::Kind;

namespace {

constexpr unsigned kChildSeconds = 60;  // one that takes longer hangs
constexpr int kSignalled = 1000;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

std::string c_str(const char* text) { return text; }

}  // namespace

Bench::Bench(std::string folder, std::uint64_t seed) : folder_(std::move(folder)), seed_(seed) {
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  void* memory =
      ::mmap(nullptr, sizeof(WorkFacts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::abort();
  }
  facts_ = new (memory) WorkFacts();
}

Bench::~Bench() {
  ::munmap(facts_, sizeof(WorkFacts));
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Bench::clear_facts() { new (facts_) WorkFacts(); }

int Bench::in_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) {
    std::perror("fork");
    std::abort();
  }
  if (pid == 0) {
    const std::string log = folder_ + "/child.log";
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(fd, STDERR_FILENO);
    ::alarm(kChildSeconds);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
}

Verdict Bench::wrong(const std::string& text) const {
  std::string all = text;
  if (facts_->failure[0] != '\0') all += " [" + c_str(facts_->failure.data()) + "]";
  std::string said = read_file(folder_ + "/child.log");

  if (said.size() > 400) said = said.substr(said.size() - 400);
  if (!said.empty()) all += " {" + said + "}";
  return {Kind::kWrong, all};
}

Bench::Calls Bench::count_calls(const std::string& file) {
  DiskPlan plan;
  plan.file = file;
  const Verdict verdict = disk_fault(plan, true);
  if (verdict.kind != Kind::kNoFault) {
    std::printf("the work fails without a fault: %s\n", verdict.text.c_str());
    return {};
  }
  return calls_;
}

std::optional<Verdict> Bench::struck(const DiskPlan& plan,
                                     const std::function<int(std::shared_ptr<FaultDisk>)>& body,
                                     std::optional<int> also_expected, bool same_disk) {
  if (!same_disk) fs::remove_all(folder_ + "/graveyard");
  clear_facts();
  const int code = in_child([&] {
    return body(std::make_shared<FaultDisk>(plan, folder_ + "/graveyard", &facts_->disk));
  });
  const bool fired = facts_->disk.fired > 0;
  if (facts_->wrong[0] != '\0') return wrong(facts_->wrong.data());
  if (facts_->disk.second_syncs > 0) {
    return wrong("a file whose sync had failed was synced again");
  }
  if (facts_->acks_after_failure > 0) {
    return wrong("a store that had failed acknowledged a batch");
  }
  int expected = 0;
  if (fired) {
    expected = plan.fault == Fault::kPowerLoss ? kPowerLost
               : plan.fault == Fault::kKilled  ? kKilled
               : plan.fault == Fault::kNoSpace ? static_cast<int>(store::FailureKind::kDiskFull)
                                               : static_cast<int>(store::FailureKind::kIo);
  }
  if (code != expected && !(also_expected && !fired && code == *also_expected)) {
    return wrong("ended with " + std::to_string(code) + ", not " + std::to_string(expected) +
                 (fired ? ", after a fault at " + c_str(facts_->disk.file.data()) : ""));
  }
  return std::nullopt;
}

Verdict Bench::disk_fault(const DiskPlan& plan, bool exits) {
  fs::remove_all(data());
  const auto ended_wrong = struck(plan, [&](const std::shared_ptr<FaultDisk>& disk) {
    WorkOptions options;
    options.data = data();
    options.seed = seed_;
    options.sessions = static_cast<int>(drawn(seed_, "sessions", 0, 2, 3));
    options.followed = !plan.file.empty();
    options.batches = static_cast<int>(options.followed ? drawn(seed_, "few batches", 0, 5, 9)
                                                        : drawn(seed_, "batches", 0, 30, 50));
    options.exits = exits;
    options.disk = disk;
    return work(options, disk, facts_);
  });
  if (ended_wrong) return *ended_wrong;
  calls_ = calls();
  const bool fired = facts_->disk.fired > 0;
  const bool refused_call = plan.fault == Fault::kIo || plan.fault == Fault::kNoSpace;
  if (fired && refused_call && c_str(facts_->failure.data()).find(plan.file) == std::string::npos) {
    return wrong("the failure does not name " + plan.file);
  }
  const CommitSeq acked = facts_->acked;
  const CommitSeq submitted = facts_->submitted;
  const Verdict left = check_left(acked, submitted);
  if (!fired && left.kind == Kind::kRecovered) return {Kind::kNoFault, {}};
  if (left.kind == Kind::kRefused) return wrong("refused, although nothing was damaged");
  return left;
}

Bench::Calls Bench::calls() const {
  Calls calls;
  for (std::size_t i = 0; i < kOps; ++i) calls.of[i] = facts_->disk.calls[i];
  calls.all = facts_->disk.all_calls;
  calls.need_space = facts_->disk.space_calls;
  return calls;
}

Verdict Bench::check_left(CommitSeq least, CommitSeq most) {
  return check_left(seed_, /*consent=*/false, least, most);
}

Verdict Bench::check_left(const Story& story, bool consent, CommitSeq least, CommitSeq most) {
  clear_facts();
  const int code = in_child([&] { return recover(data(), story, consent, facts_); });
  if (facts_->wrong[0] != '\0') return wrong(facts_->wrong.data());
  if (code >= kSignalled) {
    return wrong("the open was ended by signal " + std::to_string(code - kSignalled));
  }
  if (code != 0) {
    // A store_id that is another one may be a file put in the wrong place.
    if (code != static_cast<int>(store::FailureKind::kDamage) &&
        code != static_cast<int>(store::FailureKind::kConfig)) {
      return wrong("the open ended with " + std::to_string(code));
    }
    return {Kind::kRefused, facts_->failure.data()};
  }
  const CommitSeq found = facts_->recovered;
  if (found < least || found > most) {
    return wrong("opened at batch " + std::to_string(found) + ", of " + std::to_string(most) +
                 " submitted and " + std::to_string(least) + " acknowledged");
  }
  return {Kind::kRecovered, {}};
}

// ---- damaged files ----------------------------------------------------------------------------

namespace {

const char* name_of(ImageKind kind) {
  switch (kind) {
    case ImageKind::kClosed:
      return "closed";
    case ImageKind::kCrashed:
      return "killed";
    case ImageKind::kRestarted:
      return "restarted";
    case ImageKind::kHalfFlushed:
      return "half flushed";
    case ImageKind::kTorn:
      return "torn";
  }
  return "";
}

// `attempt`: a few batches more each time, for what one number of them does not give.
std::vector<Session> sessions_of(ImageKind kind, std::uint64_t seed, int attempt) {
  const std::string name = name_of(kind);
  const auto draw = [&](const char* what, std::uint64_t n, std::uint64_t least,
                        std::uint64_t most) {
    return static_cast<int>(drawn(seed, name + what, n, least, most));
  };
  std::vector<Session> sessions(static_cast<std::size_t>(draw("sessions", 0, 2, 4)));
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    sessions[i] = {draw("batches", i, 10, 60), draw("closed", i, 0, 1) == 1};
  }
  Session& last = sessions.back();
  last.closed = kind == ImageKind::kClosed;
  if (kind == ImageKind::kRestarted) {
    last.batches = draw("few", 0, 0, 3);
    sessions[sessions.size() - 2].closed = false;
  }
  if (kind != ImageKind::kRestarted) last.batches += attempt;
  return sessions;
}

// Which logs RocksDB finds needed, as it is about to replay them.
class NeededLogs final : public rocksdb::WalFilter {
 public:
  const char* Name() const override { return "rota.needed_logs"; }
  void ColumnFamilyLogNumberMap(const std::map<std::uint32_t, std::uint64_t>& numbers,
                                const std::map<std::string, std::uint32_t>& ids) override {
    state = numbers.at(ids.at(rocksdb::kDefaultColumnFamilyName));
    payload = numbers.at(ids.at(store::kPayloadFamily));
  }

  std::uint64_t state = 0;
  std::uint64_t payload = 0;
};

}  // namespace

bool Bench::run_sessions(const std::vector<Session>& sessions, Image* image) {
  fs::remove_all(image->folder);
  image->places.clear();
  image->submitted = 0;
  for (const Session& session : sessions) {
    clear_facts();
    const int code = in_child([&] {
      WorkOptions options;
      options.data = image->folder;
      options.seed = seed_;
      options.after = image->submitted;
      options.batches = session.batches;
      options.settles = true;
      options.close_last = session.closed;
      return work(options, rocksdb::FileSystem::Default(), facts_);
    });
    if (code != 0 || facts_->wrong[0] != '\0') return false;
    if (session.batches > 0) image->submitted = facts_->submitted;
    image->places.insert(image->places.end(), facts_->places.begin(),
                         facts_->places.begin() + static_cast<std::ptrdiff_t>(facts_->place_count));
  }
  return look_at(image);
}

bool Bench::look_at(Image* image) {
  std::erase_if(image->places, [&](const BatchPlace& place) {
    return !fs::exists(image->folder + "/" + log_name(place.log));
  });
  auto witness = store::AckedSeq::open(image->folder + "/acked_seq", /*create=*/false);
  const auto* acked = std::get_if<store::AckedSeq>(&witness);
  if (acked == nullptr) return false;
  image->witness = acked->value();
  place_in_data(*image, {});
  clear_facts();
  // Two numbers come back as the place of a batch.
  const int code = in_child([&] {
    NeededLogs needed;
    rocksdb::DBOptions options;
    options.wal_filter = &needed;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    const auto status = rocksdb::DB::OpenForReadOnly(
        options, data() + "/db",
        {{rocksdb::kDefaultColumnFamilyName, {}}, {store::kPayloadFamily, {}}}, &handles, &db);
    facts_->places[0] = {0, 0, needed.state, needed.payload};
    return status.ok() ? 0 : 1;
  });
  image->state_log = facts_->places[0].begin;
  image->payload_log = facts_->places[0].end;
  return code == 0;
}

Image Bench::make_image(ImageKind kind) {
  Image image;
  image.name = name_of(kind);
  image.folder = folder_ + "/" + image.name;
  for (int attempt = 0; attempt < 60; ++attempt) {
    if (!run_sessions(sessions_of(kind, seed_, attempt), &image)) break;
    image.acked = image.submitted;
    if (image.last_log().empty()) continue;
    if (kind == ImageKind::kHalfFlushed && !is_half_flushed(image, seed_)) continue;
    if (kind == ImageKind::kClosed || kind == ImageKind::kHalfFlushed) return image;
    // The witness follows within a second; one that knows the last batch is of no use here.
    if (image.witness == image.submitted && !image.places.empty()) continue;
    if (kind == ImageKind::kTorn) image.acked = image.submitted - 1;
    return image;
  }
  std::fprintf(stderr, "no image of a store can be made, %s: %s %s\n", image.name.c_str(),
               facts_->failure.data(), facts_->wrong.data());
  std::abort();
}

void Bench::place_in_data(const Image& image, const Damage& damage) {
  fs::remove_all(data());
  place(image, damage, seed_, data());
}

Verdict Bench::damage(const Image& image, const Damage& damage, bool torn) {
  place_in_data(image, damage);
  Verdict verdict = check_left(least_allowed(image, damage), image.submitted);
  if (verdict.kind == Kind::kRecovered && facts_->recovered < image.acked) {
    verdict.kind = Kind::kAsTorn;
  }
  if (verdict.kind == Kind::kRefused && torn) {
    verdict = wrong("refused, although only a batch that nobody knew of was torn");
  }
  verdict = names_the_cause(damage, verdict);
  if (verdict.kind == Kind::kWrong) {
    verdict.text = text_of(damage) + ": " + verdict.text + " (" + image.text() + ")";
  }
  return verdict;
}

Verdict Bench::names_the_cause(const Damage& damage, const Verdict& verdict) const {
  if (verdict.kind != Kind::kRefused) return verdict;
  // RocksDB also looks for a table under an older ending and names that, so the number must do.
  const fs::path file(damage.file);
  const std::string name =
      file.extension() == ".sst" ? file.stem().string() : file.filename().string();
  const auto says = [&](const std::string& text) {
    return verdict.text.find(text) != std::string::npos;
  };
  if (says(name) || (says("batch") && (says("missing") || says("lost")))) return verdict;
  const bool no_list = damage.kind == Damage::Kind::kMissing && name.rfind("MANIFEST-", 0) == 0;
  if (no_list && says("CURRENT does not name a MANIFEST file that is there")) return verdict;
  return wrong("the refusal names neither " + damage.file + " nor what is lost");
}

Recovery Bench::learn_recovery(const Image& image, const std::string& name, const Damage& damage) {
  Recovery recovery{name, damage, {}, 0, 0, 0};
  place_in_data(image, damage);
  const auto ended_wrong = struck(
      {}, [&](const auto& disk) { return reopen(data(), seed_, disk, facts_); },
      static_cast<int>(store::FailureKind::kDamage));
  recovery.calls = facts_->disk.all_calls;
  recovery.space_calls = facts_->disk.space_calls;
  recovery.verdict = this->damage(image, damage, false);
  recovery.seq = facts_->recovered;
  if (ended_wrong) recovery.verdict = *ended_wrong;
  return recovery;
}

Verdict Bench::recovery_fault(const Image& image, const Recovery& undisturbed,
                              const DiskPlan& plan) {
  if (undisturbed.verdict.kind == Kind::kWrong) {
    return {Kind::kWrong, "wrong without a fault: " + undisturbed.verdict.text};
  }
  place_in_data(image, undisturbed.damage);
  const bool refused = undisturbed.verdict.kind == Kind::kRefused;
  const auto ended_wrong = struck(
      plan, [&](const auto& disk) { return reopen(data(), seed_, disk, facts_); },
      refused ? std::optional(static_cast<int>(store::FailureKind::kDamage)) : std::nullopt);
  if (ended_wrong) return *ended_wrong;
  const bool fired = facts_->disk.fired > 0;
  const std::string at = ", after a fault at " + c_str(facts_->disk.file.data());
  const Verdict left =
      names_the_cause(undisturbed.damage, refused ? check_left(image.acked, image.submitted)
                                                  : check_left(undisturbed.seq, undisturbed.seq));
  if (left.kind == Kind::kWrong) return {left.kind, left.text + at};
  if ((left.kind == Kind::kRefused) != refused) {
    return wrong((refused ? "opened, although it is refused" : "refused, although it opens") +
                 std::string(" without the fault") + at);
  }
  return fired ? left : Verdict{Kind::kNoFault, {}};
}

Verdict Bench::planted_wrong_answer() {
  const Image image = make_image(ImageKind::kClosed);
  place_in_data(image, {});
  clear_facts();
  in_child([&] {
    core::InlineExecutor executor;
    store::OpenOptions options;
    options.directory = data();
    options.sizes = small_sizes(seed_);
    auto opened = store::open_store(options, executor);
    if (opened.failure) return 1;
    // The next batch as it must be, but for one row that a broken store would have lost.
    auto batch = std::make_shared<core::Batch>();
    const CommitSeq seq = image.submitted + 1;
    fill(seed_, seq, batch.get());
    const auto& changes = batch->changes();
    const auto put = std::find_if(changes.rbegin(), changes.rend(),
                                  [](const auto& change) { return change.second.has_value(); });
    const core::Batch::Key lost = put->first;
    batch->forget(lost.first, lost.second);
    opened.store->commit(batch, seq, [](CommitSeq, core::Outcome, const std::string&) {});
    opened.store->close();
    return 0;
  });
  return check_left(image.acked, image.submitted + 1);
}

}  // namespace rota::faults
