// SPDX-License-Identifier: Apache-2.0
#include "faults/bench.h"

#include <fcntl.h>
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

namespace rota::faults {

namespace fs = std::filesystem;
using core::CommitSeq;
using Kind = Verdict::Kind;

namespace {

constexpr unsigned kChildSeconds = 120;  // one that takes longer hangs
constexpr std::uint64_t kPageBytes = 4096;
constexpr int kSignalled = 1000;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

void apply(const Damage& damage, std::uint64_t seed, const std::string& path) {
  std::string bytes = read_file(path);
  const auto from = static_cast<std::size_t>(damage.offset);
  const bool may_be_behind =
      damage.kind == Damage::Kind::kCut || damage.kind == Damage::Kind::kTornRecord;
  if (from >= bytes.size() && !may_be_behind) return;
  switch (damage.kind) {
    case Damage::Kind::kNone:
      return;
    case Damage::Kind::kFlip:
      bytes[from] = static_cast<char>(bytes[from] ^ static_cast<char>(1U << damage.bit));
      break;
    case Damage::Kind::kZeroPage: {
      const std::size_t n = std::min<std::size_t>(kPageBytes, bytes.size() - from);
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(from), n, '\0');
      break;
    }
    case Damage::Kind::kCut:
      bytes.resize(std::min(from, bytes.size()));
      break;
    case Damage::Kind::kZeroRest:
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end(), '\0');
      break;
    case Damage::Kind::kNoiseRest:
      for (std::size_t i = from; i < bytes.size(); ++i) {
        bytes[i] = static_cast<char>((i * 2654435761U + seed) >> 7U);
      }
      break;
    case Damage::Kind::kTornRecord: {
      constexpr std::size_t kData = 100;  // what the header says and the pages do not hold
      bytes += std::string("\x01\x02\x03\x04\x64\x00\x01", 7) + std::string(kData, '\0');
      break;
    }
  }
  fs::remove(path);  // it may share its bytes with the image
  std::ofstream(path, std::ios::binary) << bytes;
}

// Files of the database are only ever replaced, so a link is a copy; those beside it are written in
// place.
void copy_image(const std::string& from, const std::string& to) {
  fs::create_directories(to + "/db");
  fs::permissions(to, fs::perms::owner_all);
  for (const auto& entry : fs::directory_iterator(from)) {
    if (entry.is_regular_file()) fs::copy(entry.path(), to);
  }
  for (const auto& entry : fs::directory_iterator(from + "/db")) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("LOG", 0) == 0 || name == "LOCK") continue;
    fs::create_hard_link(entry.path(), to + "/db/" + name);
  }
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

Bench::Calls Bench::count_calls() {
  const Verdict verdict = disk_fault({}, true);
  if (verdict.kind != Kind::kNoFault) {
    std::printf("the work fails without a fault: %s\n", verdict.text.c_str());
    return {};
  }
  return calls_;
}

std::optional<Verdict> Bench::struck(const DiskPlan& plan,
                                     const std::function<int(std::shared_ptr<FaultDisk>)>& body,
                                     std::optional<int> also_expected) {
  fs::remove_all(folder_ + "/graveyard");
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
    options.exits = exits;
    options.disk = disk.get();
    return work(options, disk, facts_);
  });
  if (ended_wrong) return *ended_wrong;
  for (std::size_t i = 0; i < kOps; ++i) calls_.of[i] = facts_->disk.calls[i];
  calls_.all = facts_->disk.all_calls;
  const bool fired = facts_->disk.fired > 0;
  const CommitSeq acked = facts_->acked;
  const CommitSeq submitted = facts_->submitted;
  const Verdict left = check_left(acked, submitted);
  if (!fired && left.kind == Kind::kRecovered) return {Kind::kNoFault, {}};
  if (left.kind == Kind::kRefused) return wrong("refused, although nothing was damaged");
  return left;
}

Verdict Bench::check_left(CommitSeq least, CommitSeq most) {
  clear_facts();
  const int code = in_child([&] { return recover(data(), seed_, facts_); });
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

Image Bench::make_image(bool clean) {
  Image image;
  image.folder = folder_ + (clean ? "/clean" : "/torn");
  // The witness is written each second; one that knows the last batch is of no use here.
  for (int attempt = 0; attempt < 20; ++attempt) {
    fs::remove_all(image.folder);
    clear_facts();
    const int code = in_child([&] {
      WorkOptions options;
      options.data = image.folder;
      options.seed = seed_;
      options.close_last = clean;
      return work(options, rocksdb::FileSystem::Default(), facts_);
    });
    if (code != 0 || facts_->wrong[0] != '\0') continue;
    image.submitted = facts_->submitted;
    image.acked = clean ? image.submitted : image.submitted - 1;
    if (clean) return image;
    auto witness = store::AckedSeq::open(image.folder + "/acked_seq", /*create=*/false);
    const auto* acked = std::get_if<store::AckedSeq>(&witness);
    if (acked == nullptr || acked->value() > image.acked) continue;
    const auto logs = files_of(image, [](const std::string& name) {
      return name.size() > 4 && name.compare(name.size() - 4, 4, ".log") == 0;
    });
    if (logs.empty()) continue;
    image.torn_log = logs.back();
    image.torn_begin = facts_->log_bytes_before_last;
    image.torn_end = fs::file_size(image.folder + "/" + image.torn_log);
    // The last batch may have begun a log of its own.
    if (image.torn_begin > image.torn_end) image.torn_begin = 0;
    return image;
  }
  std::fprintf(stderr, "no image of a store can be made: %s\n", facts_->failure.data());
  std::abort();
}

std::vector<std::string> Bench::files_of(const Image& image,
                                         const std::function<bool(const std::string&)>& fits) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(image.folder)) {
    if (!entry.is_regular_file() || entry.file_size() == 0) continue;
    const std::string name = entry.path().filename().string();
    if (fits(name)) found.push_back(fs::relative(entry.path(), image.folder).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void Bench::place(const Image& image, const Damage& damage) {
  fs::remove_all(data());
  copy_image(image.folder, data());
  if (damage.kind != Damage::Kind::kNone) apply(damage, seed_, data() + "/" + damage.file);
}

Verdict Bench::damage(const Image& image, const Damage& damage, bool torn) {
  place(image, damage);
  const Verdict verdict = check_left(image.acked, image.submitted);
  if (verdict.kind == Kind::kRefused && torn) {
    return wrong("refused, although only a batch that nobody knew of was torn");
  }
  return names_the_file(damage, verdict);
}

Verdict Bench::names_the_file(const Damage& damage, const Verdict& verdict) const {
  if (verdict.kind != Kind::kRefused) return verdict;
  // RocksDB also looks for a table under an older ending and names that, so the number must do.
  const fs::path file(damage.file);
  const std::string name =
      file.extension() == ".sst" ? file.stem().string() : file.filename().string();
  if (verdict.text.find(name) == std::string::npos) {
    return wrong("the refusal does not name " + damage.file);
  }
  return verdict;
}

Recovery Bench::learn_recovery(const Image& image, const std::string& name, const Damage& damage) {
  Recovery recovery{name, damage, {}, 0, 0, 0};
  place(image, damage);
  const auto ended_wrong = struck(
      {}, [&](const std::shared_ptr<FaultDisk>& disk) { return reopen(data(), disk, facts_); },
      static_cast<int>(store::FailureKind::kDamage));
  recovery.calls = facts_->disk.all_calls;
  recovery.space_calls = facts_->disk.space_calls;
  const Verdict verdict = this->damage(image, damage, false);
  recovery.seq = facts_->recovered;
  recovery.kind = ended_wrong ? Kind::kWrong : verdict.kind;
  if (ended_wrong || verdict.kind == Kind::kWrong) {
    std::printf("%s: %s\n", name.c_str(),
                ended_wrong ? ended_wrong->text.c_str() : verdict.text.c_str());
  }
  return recovery;
}

Verdict Bench::recovery_fault(const Image& image, const Recovery& undisturbed,
                              const DiskPlan& plan) {
  if (undisturbed.kind == Kind::kWrong) return wrong("wrong without a fault");
  place(image, undisturbed.damage);
  const bool refused = undisturbed.kind == Kind::kRefused;
  const auto ended_wrong = struck(
      plan, [&](const std::shared_ptr<FaultDisk>& disk) { return reopen(data(), disk, facts_); },
      refused ? std::optional(static_cast<int>(store::FailureKind::kDamage)) : std::nullopt);
  if (ended_wrong) return *ended_wrong;
  const bool fired = facts_->disk.fired > 0;
  const std::string at = ", after a fault at " + c_str(facts_->disk.file.data());
  const Verdict left =
      names_the_file(undisturbed.damage, refused ? check_left(image.acked, image.submitted)
                                                 : check_left(undisturbed.seq, undisturbed.seq));
  if (left.kind == Kind::kWrong) return {left.kind, left.text + at};
  if (left.kind != undisturbed.kind) {
    return wrong((refused ? "opened, although it is refused" : "refused, although it opens") +
                 std::string(" without the fault") + at);
  }
  return fired ? left : Verdict{Kind::kNoFault, {}};
}

Verdict Bench::planted_wrong_answer() {
  const Image image = make_image(true);
  fs::remove_all(data());
  copy_image(image.folder, data());
  clear_facts();
  in_child([&] {
    core::InlineExecutor executor;
    store::OpenOptions options;
    options.directory = data();
    options.sizes = small_sizes();
    auto opened = store::open_store(options, executor);
    if (opened.failure) return 1;
    // The next batch as it must be, but for one row that a broken store would have lost.
    auto batch = std::make_shared<core::Batch>();
    const CommitSeq seq = image.submitted + 1;
    fill(seed_, seq, batch.get());
    const core::Batch::Key lost = std::prev(batch->changes().end())->first;
    batch->forget(lost.first, lost.second);
    opened.store->commit(batch, seq, [](CommitSeq, core::Outcome, const std::string&) {});
    opened.store->close();
    return 0;
  });
  return check_left(image.acked, image.submitted + 1);
}

}  // namespace rota::faults
