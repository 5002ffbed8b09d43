// SPDX-License-Identifier: Apache-2.0
#include "blackbox/scenario.h"

#include <sys/resource.h>

#include <algorithm>

#include "blackbox/plan.h"
#include "rota/v1/job_service.pb.h"

namespace rota::blackbox {
namespace {

constexpr int kStormConnections = 10'000;
constexpr int kOtherFiles = 1'000;  // of this process and of the server, besides
constexpr std::int64_t kGatherMs = 120'000, kCutMs = 90'000;
constexpr int kDeafCalls = 900;

std::int64_t since_ms(Ns begin) { return (mono_ns() - begin) / 1'000'000; }

class Storm final : public Scenario {
 public:
  Storm(Stage& stage, const Shared& shared, Contradictions* contradictions)
      : stage_(stage),
        contradictions_(contradictions),
        service_(shared),
        swarm_(stage.server_address(), kStormConnections),
        watch_(*internal::RawClient::create({.address = stage.server_address()})),
        phase_began_(mono_ns()) {}

  bool step() override {
    const std::int64_t memory = stage_.server_memory_kib();
    most_kib_ = std::max(most_kib_, memory);
    service_.step();
    if (since_ms(looked_) < 250) return false;
    looked_ = mono_ns();
    if (since_ms(phase_began_) > kGatherMs) {
      contradictions_->add("storm: only " + std::to_string(swarm_.connected()) + " of " +
                           std::to_string(kStormConnections) + " connections and " +
                           std::to_string(parked_) + " lease calls were there after " +
                           std::to_string(kGatherMs / 1'000) + " s");
      return true;
    }
    if (!all_there()) return false;
    if (back_) return judge(), true;
    back_ = true;
    stage_.kill_server();
    stage_.start_server();
    service_.begin_anew();
    phase_began_ = mono_ns();
    return false;
  }

  std::string note() const override {
    return "storm: " + std::to_string(kStormConnections) + " connections were back after " +
           std::to_string(back_ms_) + " ms; meanwhile others had " +
           std::to_string(service_.answers()) + " answers, none for at most " +
           std::to_string(service_.longest_silence_ms()) + " ms; memory at most " +
           std::to_string(most_kib_ / 1024) + " MiB";
  }

 private:
  bool all_there() {
    if (swarm_.connected() < kStormConnections) return false;
    const auto info = watch_.get_server_info({}, {.timeout = Millis(1'000), .repeat = false});
    if (info) parked_ = info->server().parked_poll_count();
    return parked_ >= kStormConnections;
  }

  void judge() {
    back_ms_ = since_ms(phase_began_);
    if (service_.longest_silence_ms() > kSilenceMs) {
      contradictions_->add("storm: nobody else was answered for " +
                           std::to_string(service_.longest_silence_ms()) + " ms");
    }
    const std::int64_t allowed = kMemoryKiB + kStormConnections * kMemoryKiBPerConnection;
    if (most_kib_ > allowed) {
      contradictions_->add("storm: the server took " + std::to_string(most_kib_ / 1024) +
                           " MiB, it may take " + std::to_string(allowed / 1024));
    }
  }

  Stage& stage_;
  Contradictions* contradictions_;
  Service service_;
  Swarm swarm_;
  internal::RawClient watch_;
  Ns phase_began_, looked_ = 0;
  bool back_ = false;
  std::int64_t parked_ = 0, most_kib_ = 0, back_ms_ = 0;
};

class Deaf final : public Scenario {
 public:
  Deaf(Stage& stage, const Shared& shared, Contradictions* contradictions)
      : stage_(stage),
        contradictions_(contradictions),
        service_(shared),
        began_(mono_ns()),
        first_kib_(stage.server_memory_kib()) {
    v1::ListJobsRequest request;
    request.mutable_filter()->set_queue(kFree);
    request.set_page_size(1'000);
    if (!consumer_.begin(stage.server_address(), "/rota.v1.JobService/ListJobs",
                         request.SerializeAsString(), kDeafCalls)) {
      contradictions_->add("the consumer that never reads could not ask");
    }
  }

  bool step() override {
    most_kib_ = std::max(most_kib_, stage_.server_memory_kib());
    service_.step();
    const bool late = since_ms(began_) > kCutMs;
    if (!consumer_.cut() && !late) return false;
    cut_ms_ = since_ms(began_);
    if (late) {
      contradictions_->add("the consumer that never reads was not cut after " +
                           std::to_string(kCutMs / 1'000) + " s");
    }
    if (service_.longest_silence_ms() > kSilenceMs) {
      contradictions_->add("with a consumer that never reads nobody else was answered for " +
                           std::to_string(service_.longest_silence_ms()) + " ms");
    }
    if (most_kib_ - first_kib_ > kOneDeafKiB) {
      contradictions_->add("a consumer that never reads took the server " +
                           std::to_string((most_kib_ - first_kib_) / 1024) + " MiB, it may take " +
                           std::to_string(kOneDeafKiB / 1024));
    }
    return true;
  }

  std::string note() const override {
    return "consumer that never reads: " + std::to_string(kDeafCalls) + " calls, cut after " +
           std::to_string(cut_ms_) + " ms; meanwhile others had " +
           std::to_string(service_.answers()) + " answers, none for at most " +
           std::to_string(service_.longest_silence_ms()) + " ms; memory at most " +
           std::to_string(most_kib_ / 1024) + " MiB, " + std::to_string(first_kib_ / 1024) +
           " when it came";
  }

 private:
  Stage& stage_;
  Contradictions* contradictions_;
  Service service_;
  DeafConsumer consumer_;
  const Ns began_;
  const std::int64_t first_kib_;
  std::int64_t most_kib_ = 0, cut_ms_ = 0;
};

}  // namespace

void Service::step() {
  const std::int64_t now = shared_.answers;
  if (seen_ >= 0 && now > seen_) answers_ += now - seen_;
  if (now != seen_) since_ = mono_ns();
  seen_ = now;
  longest_ms_ = std::max(longest_ms_, since_ms(since_));
}

void Service::begin_anew() {
  seen_ = -1;
  longest_ms_ = answers_ = 0;
}

std::optional<std::string> why_no_storm() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_max < kStormConnections + kOtherFiles) {
    return "only " + std::to_string(files.rlim_max) + " files may be open at once";
  }
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  return std::nullopt;
}

std::unique_ptr<Scenario> make_storm(Stage& stage, const Shared& shared,
                                     Contradictions* contradictions) {
  return std::make_unique<Storm>(stage, shared, contradictions);
}

std::unique_ptr<Scenario> make_deaf_consumer(Stage& stage, const Shared& shared,
                                             Contradictions* contradictions) {
  return std::make_unique<Deaf>(stage, shared, contradictions);
}

}  // namespace rota::blackbox
