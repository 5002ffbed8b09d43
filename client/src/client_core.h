// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "internal/raw_client.h"
#include "rota/client.h"
#include "src/coalescer.h"

namespace rota::internal {

// What a Client holds. Thread-safe.
class ClientCore {
 public:
  explicit ClientCore(ClientOptions options, RawClient raw);
  ~ClientCore();

  Result<JobRef> enqueue(JobSpec spec);
  void enqueue_async(JobSpec spec, std::function<void(Result<JobRef>)> done);
  std::vector<Result<JobRef>> enqueue_bulk(std::vector<JobSpec> specs, std::string request_id);
  Result<JobInfo> get(std::string_view id);
  Result<JobInfo> wait(std::string_view id, Millis at_most);
  Result<JobState> cancel(std::string_view id, std::string why);
  Result<Declared> declare(SchedulerSpec spec);
  Result<Ok> declare_queue(QueueSpec spec);
  bool close(Millis at_most);

  const ClientOptions& options() const { return options_; }

 private:
  bool coalesces(const JobSpec& spec) const { return options_.coalesce && spec.request_id.empty(); }

  const ClientOptions options_;
  RawClient raw_;
  Coalescer coalescer_;
};

}  // namespace rota::internal
