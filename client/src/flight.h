// SPDX-License-Identifier: Apache-2.0
// The callers of one coalesced call: each is answered exactly once, with the call's answer or when
// its own time is over, whichever comes first.
#pragma once

#include <grpcpp/alarm.h>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "internal/clock.h"
#include "rota/error.h"
#include "rota/job.h"
#include "src/transport.h"

namespace rota::internal {

// Thread-safe. Shared by the call and by the alarm, which closing the transport cancels.
class Flight final : public CallHandle, public std::enable_shared_from_this<Flight> {
 public:
  struct Caller {
    BootTime deadline;
    std::function<void(Result<JobRef>)> done;
  };

  // `callers` in the order of the call's jobs, so that their deadlines do not fall. The last
  // deadline is that of the call itself; watch() looks after the earlier ones.
  Flight(Transport& transport, std::vector<Caller> callers)
      : transport_(transport), callers_(std::move(callers)) {}

  void watch();

  // Calls `result(i)` for the place of each caller that still waits, and answers it so.
  void answer(const std::function<Result<JobRef>(std::size_t)>& result);

  void cancel() override;

 private:
  void arm();  // with mutex_ held
  void on_alarm(bool in_time);

  Transport& transport_;
  std::mutex mutex_;
  std::vector<Caller> callers_;
  std::size_t next_ = 0;  // the first that is not answered
  bool answered_ = false;
  std::unique_ptr<grpc::Alarm> alarm_;
};

}  // namespace rota::internal
