// SPDX-License-Identifier: Apache-2.0
//
// A batch made durable: in memory, and on disk with its sync. The folder for the disk is TMPDIR's,
// or that of ROTA_BENCH_DATA; rows are those of a job enqueued. Items are jobs.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "core/store.h"
#include "model/keys.h"
#include "store/memory_store.h"
#include "store/open.h"

namespace rota::measure {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    const char* chosen = std::getenv("ROTA_BENCH_DATA");
    const fs::path parent = chosen != nullptr ? fs::path(chosen) : fs::temp_directory_path();
    path_ = (parent / "rota-commit-XXXXXX").string();
    made_ = mkdtemp(path_.data()) != nullptr;
  }
  ~Folder() {
    std::error_code ignored;
    if (made_) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool made_ = false;
};

void commit_batches(benchmark::State& state, core::ShardStore& store) {
  const std::int64_t jobs = state.range(0);
  model::JobKey key{.queue = 1, .priority = 100, .seq = 0};
  core::CommitSeq seq = store.last_committed();
  bool good = true;
  std::uint64_t noise = 0x9e3779b97f4a7c15U;
  for (auto _ : state) {
    auto batch = std::make_shared<core::Batch>();
    for (std::int64_t i = 0; i < jobs; ++i) {
      ++key.seq;
      std::string value(240, 'v');
      for (std::size_t at = 0; at < 120; at += 8) {  // half of it no compression makes smaller
        noise ^= noise << 13U;
        noise ^= noise >> 7U;
        noise ^= noise << 17U;
        value.replace(at, 8, reinterpret_cast<const char*>(&noise), 8);
      }
      batch->put(core::Keyspace::kJob, model::keys::job(key), std::move(value));
    }
    store.commit(std::move(batch), ++seq,
                 [&good](core::CommitSeq, core::Outcome outcome, const std::string&) {
                   good = good && outcome == core::Outcome::kCommitted;
                 });
    if (!good) return state.SkipWithError("a commit failed");
  }
  state.SetItemsProcessed(state.iterations() * jobs);
}

void commit_in_memory(benchmark::State& state) {
  core::InlineExecutor executor;
  const auto store = store::MemoryDisk::create()->open(executor);
  commit_batches(state, *store);
}
BENCHMARK(commit_in_memory)->Name("commit/memory")->Arg(1)->Arg(100)->Arg(1'000);

void commit_on_disk(benchmark::State& state) {
  const Folder folder;
  core::InlineExecutor executor;
  store::OpenOptions options;
  options.directory = folder.path() + "/data";
  auto opened = store::open_store(options, executor);
  if (!opened.store) return state.SkipWithError("the store does not open");
  commit_batches(state, *opened.store);
  opened.store->close();
}
BENCHMARK(commit_on_disk)->Name("commit/disk")->Arg(1)->Arg(100)->Arg(1'000)->UseRealTime();

}  // namespace
}  // namespace rota::measure
