// SPDX-License-Identifier: Apache-2.0
// One unary call with its repeats, blocking or with a callback. Repeated is only what found the
// server away (UNAVAILABLE), with the same message and so the same request id, after a pause of
// full jitter, and never beyond the deadline. What a repeat's answer means is in repeat.h.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "internal/clock.h"
#include "internal/raw_client.h"
#include "src/repeat.h"
#include "src/status.h"
#include "src/transport.h"

namespace rota::internal {

template <class Request>
concept HasRequestId = requires(Request request) {
  request.set_request_id(std::string());
};

template <class Request>
std::string ensure_request_id(Request& request) {
  if constexpr (HasRequestId<Request>) {
    if (request.request_id().empty()) request.set_request_id(random_hex(16));
    return request.request_id();
  } else {
    return {};
  }
}

// Whether a call of this method can change something at the server that the caller should know of.
constexpr bool changes_state(std::string_view method) {
  for (const std::string_view reads : {"Get", "List", "Wait", "Explain", "Preview"}) {
    if (method.substr(0, reads.size()) == reads) return false;
  }
  return true;
}

// Less time than this is not enough for a try after a refusal of the server.
inline constexpr Millis kLeastTry{200};

// The rule of repeats for one call.
class Repeats {
 public:
  Repeats(const Transport& transport, const CallOptions& options, std::string request_id,
          bool changes)
      : options_(options),
        deadline_(BootClock::now() + options.timeout.value_or(transport.timeout())),
        request_id_(std::move(request_id)),
        changes_(changes) {}

  Millis left() const {
    return std::max(Millis(0), std::chrono::ceil<Millis>(deadline_ - BootClock::now()));
  }

  // How long to wait before the next try; nothing: this fault is the answer.
  std::optional<Millis> pause_after(const Fault& fault) {
    unknown_ = unknown_ || fault.unknown;
    if (!options_.repeat || !fault.may_repeat) return std::nullopt;
    if (fault.never_sent && !options_.repeat_refused) return std::nullopt;
    const Millis pause = full_jitter(failures_++, Millis(50), Millis(1'000),
                                     fault.error.retry_after.value_or(Millis(5)));
    // A try that can hardly be answered would only turn a clear refusal into an unknown outcome.
    const Millis least = fault.from_server ? kLeastTry : Millis(0);
    if (pause + least >= left()) return std::nullopt;
    return pause;
  }

  // Whether an earlier try, whose answer was lost, is known from `fault` to have done the work.
  template <class Response>
  bool done_before(const Fault& fault, Response* response) const {
    return unknown_ && fault.from_server && done_by_earlier_try(fault, response);
  }

  Error final_error(Error error) const {
    error.may_have_happened = changes_ && unknown_;
    error.request_id = request_id_;
    return error;
  }

 private:
  CallOptions options_;
  BootTime deadline_;
  std::string request_id_;
  bool changes_;
  bool unknown_ = false;  // a try was sent whose answer never came
  int failures_ = 0;
};

inline void set_deadline(grpc::ClientContext& context, Millis left) {
  context.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(left.count(), GPR_TIMESPAN)));
}

// The context of the try in flight, which closing may cancel from another thread.
class CancellableContext : public CallHandle {
 public:
  // Null when the call is cancelled: no further try.
  grpc::ClientContext* next(Millis left) {
    std::lock_guard lock(mutex_);
    if (cancelled_) return nullptr;
    context_.emplace();
    set_deadline(*context_, left);
    return &*context_;
  }
  void end_try() {
    std::lock_guard lock(mutex_);
    context_.reset();
  }
  bool cancelled() {
    std::lock_guard lock(mutex_);
    return cancelled_;
  }
  void cancel() override {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (context_) context_->TryCancel();
  }

 protected:
  std::mutex mutex_;

 private:
  std::optional<grpc::ClientContext> context_;
  bool cancelled_ = false;
};

// `send(context, request, response)` is the blocking form of a stub's method.
template <class Response, class Request, class Send>
Result<Response> blocking_call(Transport& transport, std::string_view method, Request request,
                               const CallOptions& options, Send send) {
  Repeats repeats(transport, options, ensure_request_id(request), changes_state(method));
  CancellableContext handle;
  if (!transport.enter(&handle)) return repeats.final_error(closed_error());
  Result<Response> answer{Response()};
  while (true) {
    grpc::ClientContext* context = handle.next(repeats.left());
    if (context == nullptr) {
      answer = repeats.final_error(closed_error());
      break;
    }
    const grpc::Status status = send(context, request, &*answer);
    handle.end_try();
    if (status.ok()) break;
    Fault fault = to_fault(status);
    const std::optional<Millis> pause = repeats.pause_after(fault);
    const bool closing = handle.cancelled();
    *answer = Response();
    if (!pause && repeats.done_before(fault, &*answer)) break;
    if (pause && !closing && transport.sleep(*pause)) continue;
    answer = repeats.final_error(closing ? closed_error() : std::move(fault.error));
    break;
  }
  transport.leave(&handle);
  return answer;
}

// Owns itself until `done` has returned.
template <class Request, class Response>
class CallbackCall final : public CancellableContext {
 public:
  using Start = std::function<void(grpc::ClientContext*, const Request*, Response*,
                                   std::function<void(grpc::Status)>)>;
  using Done = std::function<void(Result<Response>)>;

  static void begin(Transport& transport, std::string_view method, Request request,
                    const CallOptions& options, Start start, Done done) {
    auto* call = new CallbackCall(transport, method, std::move(request), options, std::move(start),
                                  std::move(done));
    if (transport.enter(call)) {
      call->next_try();
    } else {
      call->done_(call->repeats_.final_error(closed_error()));
      delete call;
    }
  }

  void cancel() override {
    CancellableContext::cancel();
    std::lock_guard lock(this->mutex_);  // an alarm must not be set and cancelled at once
    if (alarm_) alarm_->Cancel();
  }

 private:
  CallbackCall(Transport& transport, std::string_view method, Request request,
               const CallOptions& options, Start start, Done done)
      : transport_(transport),
        request_(std::move(request)),
        repeats_(transport, options, ensure_request_id(request_), changes_state(method)),
        start_(std::move(start)),
        done_(std::move(done)) {}
  ~CallbackCall() override = default;

  void next_try() {
    grpc::ClientContext* context = this->next(repeats_.left());
    if (context == nullptr) return finish(repeats_.final_error(closed_error()));
    start_(context, &request_, &response_, [this](const grpc::Status& status) { on_end(status); });
  }

  void on_end(const grpc::Status& status) {
    const bool closing = this->cancelled();
    if (status.ok()) return finish(std::move(response_));
    Fault fault = to_fault(status);
    const std::optional<Millis> pause = repeats_.pause_after(fault);
    response_ = Response();
    if (!pause && repeats_.done_before(fault, &response_)) return finish(std::move(response_));
    if (!pause || closing) {
      return finish(repeats_.final_error(closing ? closed_error() : std::move(fault.error)));
    }
    std::lock_guard lock(this->mutex_);
    // A cancel just before this is seen by next_try after the pause, at most a second later.
    // A new one each time: the callback of the last may still be on its way out of next_try().
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                             gpr_time_from_millis(pause->count(), GPR_TIMESPAN)),
                [this](bool) { next_try(); });
  }

  void finish(Result<Response> result) {
    this->end_try();
    done_(std::move(result));
    done_ = nullptr;
    Transport& transport = transport_;
    transport.leave(this);
    delete this;
  }

  Transport& transport_;
  Request request_;
  Response response_;
  Repeats repeats_;
  Start start_;
  Done done_;
  std::unique_ptr<grpc::Alarm> alarm_;
};

}  // namespace rota::internal
