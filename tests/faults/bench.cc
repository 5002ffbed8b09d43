// SPDX-License-Identifier: Apache-2.0
#include "faults/bench.h"

#include <fcntl.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
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
  if (from >= bytes.size() && damage.kind != Damage::Kind::kCut) return;
  switch (damage.kind) {
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
    ::signal(SIGSEGV, [](int) { void* f[60]; int n = ::backtrace(f, 60); ::backtrace_symbols_fd(f, n, 2); ::signal(SIGSEGV, SIG_DFL); ::raise(SIGSEGV); });
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

Verdict Bench::disk_fault(const DiskPlan& plan, bool exits) {
  fs::remove_all(data());
  fs::remove_all(folder_ + "/graveyard");
  clear_facts();
  const int code = in_child([&] {
    const auto disk = std::make_shared<FaultDisk>(plan, folder_ + "/graveyard", &facts_->disk);
    WorkOptions options;
    options.data = data();
    options.seed = seed_;
    options.exits = exits;
    options.disk = disk.get();
    return work(options, disk, facts_);
  });
  for (std::size_t i = 0; i < kOps; ++i) calls_.of[i] = facts_->disk.calls[i];
  calls_.all = facts_->disk.all_calls;
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
               : plan.fault == Fault::kNoSpace ? static_cast<int>(store::FailureKind::kDiskFull)
                                               : static_cast<int>(store::FailureKind::kIo);
  }
  if (code != expected) {
    return wrong("ended with " + std::to_string(code) + ", not " + std::to_string(expected) +
                 (fired ? ", after a fault at " + c_str(facts_->disk.file.data()) : ""));
  }
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

Verdict Bench::damage(const Image& image, const Damage& damage, bool torn) {
  fs::remove_all(data());
  copy_image(image.folder, data());
  apply(damage, seed_, data() + "/" + damage.file);
  Verdict verdict = check_left(image.acked, image.submitted);
  if (verdict.kind != Kind::kRefused) return verdict;
  if (torn) return wrong("refused, although only a batch that nobody knew of was torn");
  // RocksDB also looks for a table under an older ending and names that, so the number must do.
  const fs::path file(damage.file);
  const std::string name =
      file.extension() == ".sst" ? file.stem().string() : file.filename().string();
  if (verdict.text.find(name) == std::string::npos) {
    return wrong("the refusal does not name " + damage.file);
  }
  return verdict;
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
    const core::Batch::Key lost = batch->changes().begin()->first;
    batch->forget(lost.first, lost.second);
    opened.store->commit(batch, seq, [](CommitSeq, core::Outcome, const std::string&) {});
    opened.store->close();
    return 0;
  });
  return check_left(image.acked, image.submitted + 1);
}

}  // namespace rota::faults
