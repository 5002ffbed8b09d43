// SPDX-License-Identifier: Apache-2.0
#include "conformance/store_box.h"

#include <gtest/gtest.h>

#include <future>

#include "conformance/fault_file_system.h"
#include "conformance/store_files.h"
#include "store/memory_store.h"
#include "store/rocks_open.h"

namespace rota::testing {

namespace {

class MemoryBox final : public StoreBox {
 public:
  std::unique_ptr<core::ShardStore> open(core::Executor& executor) override {
    return disk_->open(executor);
  }
  void break_next_commit(core::ShardStore& store) override {
    disk_->fail_commit(store.last_committed() + 1, store::CommitFault::kUnknownApplied);
  }
  void repair() override {}

 private:
  std::shared_ptr<store::MemoryDisk> disk_ = store::MemoryDisk::create();
};

class RocksBox final : public StoreBox {
 public:
  std::unique_ptr<core::ShardStore> open(core::Executor& executor) override {
    store::OpenOptions options;
    options.directory = directory_ / "data";
    auto result = store::open_store_on(file_system_, options, executor);
    if (result.failure && result.failure->kind != store::FailureKind::kInUse) {
      ADD_FAILURE() << result.failure->describe();
    }
    return std::move(result.store);
  }
  void break_next_commit(core::ShardStore&) override {
    file_system_->fail_log_sync(FaultFileSystem::Fault::kIo);
  }
  void repair() override { file_system_->fail_log_sync(FaultFileSystem::Fault::kNone); }

 private:
  TempDirectory directory_;
  std::shared_ptr<FaultFileSystem> file_system_ = std::make_shared<FaultFileSystem>();
};

}  // namespace

std::unique_ptr<StoreBox> memory_box() { return std::make_unique<MemoryBox>(); }
std::unique_ptr<StoreBox> rocks_box() { return std::make_unique<RocksBox>(); }

core::Outcome Driver::commit(const std::function<void(core::Batch&)>& fill) {
  auto batch = std::make_shared<core::Batch>();
  fill(*batch);
  std::promise<core::Outcome> outcome;
  store_.commit(batch, ++seq_, [&](core::CommitSeq seq, core::Outcome result, std::string) {
    EXPECT_EQ(seq, seq_);
    outcome.set_value(result);
  });
  return outcome.get_future().get();
}

core::ReadResult Driver::read(core::ReadSpec spec) {
  std::promise<core::ReadResult> answer;
  store_.read(std::move(spec),
              [&](core::ReadError error, core::ReadResult result, std::string detail) {
                EXPECT_EQ(error, core::ReadError::kNone) << detail;
                answer.set_value(std::move(result));
              });
  return answer.get_future().get();
}

std::optional<std::string> Driver::get(core::Keyspace keyspace, const std::string& key) {
  core::ReadSpec spec;
  spec.gets.push_back({keyspace, key});
  const auto result = read(spec);
  return result.values.size() == 1 ? result.values[0] : std::nullopt;
}

core::ScanPage Driver::scan(core::ScanSpec spec) {
  core::ReadSpec read_spec;
  read_spec.scans.push_back(std::move(spec));
  auto result = read(read_spec);
  return result.pages.size() == 1 ? std::move(result.pages[0]) : core::ScanPage{};
}

std::vector<core::Row> Driver::scan_all(core::ScanSpec spec, int* pages) {
  std::vector<core::Row> rows;
  for (int n = 1;; ++n) {
    core::ScanPage page = scan(spec);
    for (auto& row : page.rows) rows.push_back(std::move(row));
    if (pages != nullptr) *pages = n;
    if (!page.more) return rows;
    EXPECT_GT(page.next, spec.begin) << "a page that does not advance";
    if (page.next <= spec.begin) return rows;
    spec.begin = page.next;
  }
}

std::vector<core::Row> Driver::load(core::Keyspace keyspace) {
  std::vector<core::Row> rows;
  std::string detail;
  const auto error = store_.load(
      keyspace,
      [&](std::string_view key, std::string_view value) {
        rows.emplace_back(key, value);
        return true;
      },
      &detail);
  EXPECT_EQ(error, core::ReadError::kNone) << detail;
  return rows;
}

}  // namespace rota::testing
