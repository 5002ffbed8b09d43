// SPDX-License-Identifier: Apache-2.0
//
// A process with a store, for tests that kill it:
//   store_child commit DIR   commits without end; prints each batch number once it is committed
//   store_child hold DIR     opens, prints "open" and the epoch, and waits for standard input to
//   end
// A refused open prints the failure and exits with its code.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "store/open.h"

namespace {

using rota::core::Batch;
using rota::core::CommitSeq;
using rota::core::Keyspace;
using rota::core::Outcome;

void commit_forever(rota::core::ShardStore& store) {
  for (CommitSeq seq = store.last_committed() + 1;; ++seq) {
    auto batch = std::make_shared<Batch>();
    for (int i = 0; i < 20; ++i) {
      batch->put(Keyspace::kJob, std::to_string(seq) + "/" + std::to_string(i),
                 std::string(200, static_cast<char>('a' + i)));
    }
    batch->put(Keyspace::kMeta, "newest", std::to_string(seq));
    store.commit(batch, seq, [](CommitSeq done, Outcome outcome, const std::string& detail) {
      if (outcome != Outcome::kCommitted) {
        std::fprintf(stderr, "%s\n", detail.c_str());
        ::_exit(1);
      }
      std::printf("%llu\n", static_cast<unsigned long long>(done));
      std::fflush(stdout);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  rota::core::InlineExecutor executor;
  rota::store::OpenOptions options;
  options.directory = argv[2];
  auto result = rota::store::open_store(options, executor);
  if (result.failure) {
    std::printf("%s\n", result.failure->describe().c_str());
    std::fflush(stdout);
    return result.failure->exit_code();
  }
  if (std::strcmp(argv[1], "commit") == 0) commit_forever(*result.store);
  std::printf("open %llu\n", static_cast<unsigned long long>(result.store->epoch()));
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  result.store->close();
  return 0;
}
