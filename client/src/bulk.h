// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "internal/raw_client.h"
#include "rota/client.h"

namespace rota::internal {

// One enqueue_bulk: cut into calls of at most 1,000 jobs and 8 MiB, sent one after the other with
// the request ids ID:0, ID:1, ... The cuts depend on the specs alone, so that a repeat of the whole
// makes the same calls.
class BulkEnqueue {
 public:
  // An empty `request_id`: one is made.
  BulkEnqueue(RawClient& raw, std::string name_space, std::string request_id);

  // One result for each spec, in order. After a call whose server was away the rest is not sent.
  std::vector<Result<JobRef>> run(std::vector<JobSpec> specs);

 private:
  void add(JobSpec spec, std::size_t index);
  void send();
  void fail_all(const Error& error);

  RawClient& raw_;
  const std::string name_space_, request_id_;
  v1::BulkEnqueueJobsRequest request_{};
  std::size_t bytes_ = 0;
  int calls_ = 0;
  std::vector<std::size_t> indexes_{};  // of the jobs in request_
  std::vector<Result<JobRef>> results_{};
  std::optional<Error> away_{};
};

}  // namespace rota::internal
