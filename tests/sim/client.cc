// SPDX-License-Identifier: Apache-2.0
#include "sim/client.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/hash.h"

namespace rota::sim {
namespace {

constexpr std::int64_t kAgainMs = 3'000;
constexpr std::size_t kOpenMax = 12;
constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::uint64_t kKeys = 8;
constexpr const char* kSharedScope = "shared";

std::string hash_of(const std::string& text) {
  return std::string(base::as_bytes(base::hash_parts({text})));
}

bool is_refusal_to_serve(const core::ReplyBody& body) {
  const auto* error = std::get_if<core::Error>(&body);
  return error != nullptr &&
         (error->reason == base::Reason::kDraining || error->reason == base::Reason::kOverloaded ||
          error->reason == base::Reason::kStoreFailed);
}

}  // namespace

Client::Client(Context& context, Network& network, Rumours& rumours, Rng rng, std::uint32_t number)
    : context_(context),
      network_(network),
      rumours_(rumours),
      rng_(rng),
      heirs_(rng.split("heirs")),
      number_(number) {}

void Client::start() {
  context_.agenda.in(rng_.between(1, 2 * context_.profile.think_ms), [this] { act(); });
}

void Client::act() {
  if (resting_) return;
  if (open_.size() < kOpenMax) {
    const std::uint64_t number = next_++;
    open_[number] = true;
    send(draw(), 0, number);
  }
  const std::int64_t think_ms = context_.profile.think_ms;
  context_.agenda.in(rng_.between(think_ms / 2, 3 * think_ms / 2), [this] { act(); });
}

void Client::send(core::CommandBody body, int tries, std::uint64_t number) {
  const auto kept = std::make_shared<const core::CommandBody>(std::move(body));
  network_.send(*kept, [this, kept, number](const core::ReplyBody& answer) {
    if (!is_refusal_to_serve(answer)) open_.erase(number);
    hear(*kept, answer);
  });
  context_.agenda.in(kAgainMs, [this, kept, tries, number] {
    if (!open_.contains(number)) return;
    if (tries < 4 && !resting_) return send(*kept, tries + 1, number);
    open_.erase(number);  // what became of it is never known
  });
}

void Client::insist(core::CommandBody body) {
  ++insisting_;
  const auto done = std::make_shared<bool>(false);
  const auto kept = std::make_shared<const core::CommandBody>(std::move(body));
  const auto again = std::make_shared<std::function<void()>>();
  *again = [this, done, kept, weak = std::weak_ptr(again)] {
    if (*done) return;
    network_.send(*kept, [this, done, kept](const core::ReplyBody& answer) {
      if (is_refusal_to_serve(answer) || std::exchange(*done, true)) return;
      --insisting_;
      hear(*kept, answer);
    });
    if (const auto self = weak.lock()) context_.agenda.in(500, [self] { (*self)(); });
  };
  (*again)();
}

// ---- what is heard

void Client::hear(const core::CommandBody& asked, const core::ReplyBody& answer) {
  if (const auto* error = std::get_if<core::Error>(&answer)) {
    if (error->reason == base::Reason::kInternal) {
      context_.verdict.fail(28, "answered INTERNAL: " + error->message);
    }
    return;
  }
  if (const auto* enqueued = std::get_if<core::EnqueueReply>(&answer)) {
    hear_enqueue(std::get<core::EnqueueJobs>(asked), *enqueued);
  } else if (const auto* operation = std::get_if<core::OperationReply>(&answer)) {
    const std::uint64_t number = operation->operation.number;
    rumours_.operations.push_back(number);
    if (!operation->operation.done && !resting_ && rng_.chance(0.3)) {
      send(core::CancelOperation{number}, 0, next_++);
    }
  } else if (const auto* scheduler = std::get_if<core::SchedulerReply>(&answer)) {
    for (const core::JobKey& key : {scheduler->state.last_job, scheduler->state.waiting}) {
      if (key.valid()) rumours_.heard(key);
    }
  }
}

void Client::hear_enqueue(const core::EnqueueJobs& asked, const core::EnqueueReply& answer) {
  std::vector<core::JobKey> keys;
  for (const core::EnqueueItem& item : answer.items) {
    const auto* job = std::get_if<core::EnqueuedJob>(&item);
    keys.push_back(job == nullptr ? core::JobKey{} : job->key);
    if (job != nullptr) rumours_.heard(job->key);
  }
  const bool any = std::any_of(keys.begin(), keys.end(), [](auto& key) { return key.valid(); });
  if (asked.request.id.empty() || !any) return;
  if (asked.request.id.starts_with("reused") || context_.clocks.leapt) return;
  const auto [first, fresh] = first_answers_.emplace(asked.request.id, keys);
  if (!fresh && first->second != keys) {
    context_.verdict.fail(
        5, "request " + asked.request.id + " was answered with other jobs than before");
  }
}

// ---- what is asked

core::CommandBody Client::draw() {
  const std::uint64_t n = rng_.below(100);
  if (n < 45) return enqueue();
  if (n < 53 && has(Feature::kUpdates)) return update();
  if (n < 61 && has(Feature::kCancels)) {
    return core::CancelJob{some_job(), rng_.chance(0.5) ? "" : "no longer wanted"};
  }
  if (n < 67 && has(Feature::kRedrives)) {
    core::RedriveJob redrive{.key = some_job(), .request = {}};
    if (rng_.chance(0.6)) redrive.request = tag("redrive");
    return redrive;
  }
  if (n < 71 && has(Feature::kDeletes)) return core::DeleteJob{some_job()};
  if (n < 76 && has(Feature::kExplain)) {
    return core::ExplainJob{some_job(), static_cast<std::uint32_t>(rng_.below(4))};
  }
  if (n < 84 && has(Feature::kSchedulers)) return scheduler_command();
  if (n < 89 && has(Feature::kPauses)) {
    if (rng_.chance(0.4)) return core::PauseQueue{some_queue(), "note"};
    return core::ResumeQueue{some_queue()};
  }
  if (n < 94) return set_queue(some_queue());
  if (n < 97) return rare();
  return enqueue();
}

core::JobKey Client::some_job() {
  if (rumours_.jobs.empty() || rng_.chance(0.03)) {
    // Never was, or not yet.
    return {static_cast<std::uint32_t>(1 + rng_.below(3)), 100, 1 + rng_.below(5'000)};
  }
  return rumours_.jobs[rng_.below(rumours_.jobs.size())];
}

std::string Client::some_queue() {
  if (rng_.chance(0.02)) return "nowhere";
  return rumours_.queues[rng_.below(rumours_.queues.size())];
}

core::RequestTag Client::tag(const std::string& body) {
  return {"c" + std::to_string(number_) + "-" + std::to_string(next_++), hash_of(body)};
}

model::RetryPolicy Client::retry() {
  model::RetryPolicy r;
  r.max_attempts = static_cast<std::uint32_t>(rng_.between(1, 4));
  r.first_ms = rng_.between(0, 2'000);
  r.factor = rng_.chance(0.5) ? 1.0 : 2.0;
  r.cap_ms = std::max<std::int64_t>(r.first_ms, 4'000);
  r.jitter = rng_.chance(0.5) ? 0.0 : 0.5;
  if (rng_.chance(0.2)) r.delays_ms = {0, 1'000, 3'000};
  if (rng_.chance(0.2)) r.give_up_after_ms = rng_.between(1'000, 30'000);
  return r;
}

core::JobRequest Client::job() {
  core::JobRequest r;
  r.queue = some_queue();
  if (r.queue == rumours_.leaving) r.queue = rumours_.queues.front();
  r.kind = "k";
  r.content_type = "text/plain";
  r.labels["tag"] = std::to_string(number_) + "." + std::to_string(next_++);
  const std::int64_t now = context_.wall_ms();
  if (has(Feature::kPriorities) && rng_.chance(0.5)) {
    r.priority = static_cast<std::uint8_t>(98 + rng_.below(5));
  }
  if (has(Feature::kDelayed) && rng_.chance(0.3)) {
    r.run_at_ms = now + rng_.between(-500, context_.profile.far_ms);
  }
  if (has(Feature::kDeadlines) && rng_.chance(0.2)) {
    r.start_deadline_ms = now + rng_.between(1, 6'000);
  }
  if (has(Feature::kTimeouts) && rng_.chance(0.3)) {
    r.attempt_timeout_ms = rng_.chance(0.2) ? model::kNoTimeout : rng_.between(1'000, 9'000);
  }
  if (has(Feature::kJobRetries) && rng_.chance(0.4)) r.retry = retry();
  if (has(Feature::kBigPayloads) && rng_.chance(0.05)) r.payload = std::string(5'000, 'x');
  if (has(Feature::kBusinessKeys) && rng_.chance(0.4)) {
    r.business_key = "key" + std::to_string(rng_.below(kKeys));
    if (rng_.chance(0.2)) r.key_scope = kSharedScope;
    r.payload = rng_.chance(0.1) ? "other" : "same";
    if (rng_.chance(0.05)) r.kind = "k2";
    r.payload_hash = hash_of(r.payload);
    if (rng_.chance(0.3)) r.on_dead = core::OnDead::kRedrive;
  }
  if (rng_.chance(0.01)) r.invalid = base::invalid_field("kind", "refused at the border");
  return r;
}

core::CommandBody Client::enqueue() {
  core::EnqueueJobs c;
  c.bulk = has(Feature::kBulk) && rng_.chance(0.3);
  const std::uint64_t n = c.bulk ? 1 + rng_.below(6) : 1;
  std::string body;
  for (std::uint64_t i = 0; i < n; ++i) {
    c.jobs.push_back(job());
    body += c.jobs.back().labels["tag"] + ";";
  }
  if (rng_.chance(0.6)) c.request = tag(body);
  // A careless caller takes one id for two calls: refused, whoever comes second.
  if (!c.request.id.empty() && rng_.chance(0.02)) {
    c.request.id = "reused-" + std::to_string(rng_.below(3));
  }
  return c;
}

core::CommandBody Client::update() {
  core::UpdateJob c;
  c.key = some_job();
  const std::int64_t now = context_.wall_ms();
  if (rng_.chance(0.6)) c.priority = static_cast<std::uint8_t>(98 + rng_.below(5));
  if (rng_.chance(0.3)) c.run_at_ms = rng_.chance(0.3) ? 0 : now + rng_.between(-500, 5'000);
  if (rng_.chance(0.2)) c.start_deadline_ms = rng_.chance(0.3) ? 0 : now + rng_.between(1, 5'000);
  return c;
}

core::SetQueue Client::first_settings(std::size_t index) {
  return std::get<core::SetQueue>(set_queue("q" + std::to_string(index)));
}

core::CommandBody Client::set_queue(const std::string& name) {
  core::SetQueue c;
  c.queue = name == "nowhere" ? "q0" : name;
  if (has(Feature::kLimits) && rng_.chance(0.5)) {
    c.patch.concurrency_limit = rng_.chance(0.3) ? std::optional<std::uint32_t>()
                                                 : std::optional<std::uint32_t>(1 + rng_.below(3));
  }
  if (has(Feature::kMaxWaiting) && rng_.chance(0.3)) {
    c.patch.max_waiting = rng_.chance(0.4) ? std::optional<std::uint64_t>()
                                           : std::optional<std::uint64_t>(1 + rng_.below(12));
  }
  if (has(Feature::kRetention) && rng_.chance(0.4)) {
    model::Retention r;
    r.succeeded_ms = rng_.chance(0.2) ? 0 : 10 * kMinuteMs;
    r.succeeded_count = rng_.below(12);
    r.cancelled_ms = rng_.chance(0.3) ? 0 : 10 * kMinuteMs;
    r.dead_ms = rng_.chance(0.5) ? 10 * kMinuteMs : model::kForever;
    r.ledger_ms = rng_.chance(0.2) ? 0 : rng_.chance(0.5) ? 10 * kMinuteMs : model::kForever;
    c.patch.retention = r;
  }
  if (rng_.chance(0.4)) c.patch.retry = retry();
  if (has(Feature::kTimeouts) && rng_.chance(0.3)) {
    c.patch.attempt_timeout_ms = rng_.chance(0.3) ? model::kNoTimeout : rng_.between(4'000, 30'000);
  }
  if (rng_.chance(0.05)) c.etag = std::to_string(1 + rng_.below(4));
  if (rng_.chance(0.3)) c.request = tag("set");
  return c;
}

// All nodes declare from one list, so that the same declaration comes from several of them.
core::CommandBody Client::scheduler_command() {
  const std::uint64_t which = rng_.below(3);
  const std::string id = which == 2 && rng_.chance(0.8) ? "s0" : "s" + std::to_string(which);
  const std::uint64_t n = rng_.below(10);
  if (n == 0) return core::PauseScheduler{id, "note"};
  if (n == 1) return core::ResumeScheduler{id};
  if (n == 2 && rng_.chance(0.5)) return core::DeleteScheduler{id};
  core::UpsertScheduler c;
  c.id = id;
  const std::uint64_t variant = rng_.chance(0.7) ? 0 : rng_.below(4);
  Rng list = Rng(context_.profile.seed).split("scheduler " + id, variant);
  model::SchedulerSettings& s = c.settings;
  if (list.chance(0.1)) {
    s.spec.cron = "* * * * *";
  } else {
    s.spec.every_ms = 1'000 * list.between(1, 5);
    s.spec.phase_ms = list.chance(0.5) ? 0 : 1'000 * list.between(0, s.spec.every_ms / 1'000 - 1);
  }
  s.overlap = static_cast<model::Overlap>(1 + list.below(3));
  s.catch_up.mode = static_cast<model::CatchUp>(1 + list.below(3));
  s.catch_up.window_ms = list.chance(0.5) ? 20'000 : 10 * kMinuteMs;
  s.catch_up.max_runs = static_cast<std::uint32_t>(list.between(1, 6));
  s.job.queue = "q" + std::to_string(list.below(std::min(2U, context_.profile.queues)));
  s.job.kind = "tick";
  s.job.priority = static_cast<std::uint8_t>(98 + list.below(5));
  if (list.chance(0.3)) s.job.business_key = "b{{nominal_time}}";
  if (list.chance(0.2)) s.job.start_within_ms = 1'000 * list.between(1, 20);
  if (list.chance(0.3)) s.job.payload = "for {{nominal_time}}";
  c.revision = static_cast<std::int64_t>(variant == 3 ? 0 : variant + rng_.below(2));
  if (rng_.chance(0.03)) c.etag = std::to_string(rng_.below(4));
  if (rng_.chance(0.03)) c.settings.spec.time_zone = "Nowhere/Else";
  if (rng_.chance(0.3)) c.request = tag(id + std::to_string(variant));
  return c;
}

void Client::after(std::int64_t ms, core::CommandBody body) {
  context_.agenda.in(ms, [this, body = std::move(body)] {
    if (!resting_) send(body, 0, next_++);
  });
}

// Takes a queue out of service: no node enqueues there any more, what waits is purged, and when
// what runs has had some time to end it is deleted, and declared anew. The last jobs of it had one
// attempt each and keys that are known elsewhere: where one died, its key is free with the queue,
// and a job of another queue takes it before all rows of the old one are gone.
void Client::replace(const std::string& queue) {
  rumours_.leaving = queue;
  const std::int64_t wait_ms = heirs_.between(1'000, 5'000 + 3 * context_.profile.work_ms);
  const std::string name = "c" + std::to_string(number_) + "-" + std::to_string(next_++);
  if (has(Feature::kBusinessKeys)) after(0, keyed_jobs(queue, name));
  if (has(Feature::kPurges)) {
    after(wait_ms / 2, core::PurgeQueue{.queue = queue, .request = {}});
    after(wait_ms * 9 / 10, core::PurgeQueue{.queue = queue, .request = {}});
  }
  // Calls for these keys that were begun before the deletion go on after it.
  const std::int64_t read_ms = context_.profile.read_ms;
  if (has(Feature::kBusinessKeys)) {
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t other = heirs_.below(rumours_.queues.size() - 1);
      after(wait_ms + heirs_.between(0, 4 * read_ms), keyed_jobs(rumours_.queues[other], name));
    }
  }
  context_.agenda.in(wait_ms + 2 * read_ms, [this, queue] {
    rumours_.leaving.clear();
    after(0, core::DeleteQueue{queue});
    core::SetQueue again;
    again.queue = queue;
    after(heirs_.between(0, 5'000), std::move(again));
  });
}

core::EnqueueJobs Client::keyed_jobs(const std::string& queue, const std::string& name) {
  core::EnqueueJobs c;
  c.bulk = true;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    core::JobRequest r;
    r.queue = queue;
    r.kind = "k";
    r.content_type = "text/plain";
    r.labels["tag"] = name;
    r.key_scope = kSharedScope;
    r.business_key = name + "." + std::to_string(i);
    r.payload_hash = hash_of(r.payload);
    r.retry = model::RetryPolicy{};
    r.retry->max_attempts = 1;
    c.jobs.push_back(std::move(r));
  }
  return c;
}

core::CommandBody Client::rare() {
  switch (rng_.below(5)) {
    case 0:
    case 1:
      if (has(Feature::kPurges)) {
        core::PurgeQueue c{.queue = some_queue(), .request = {}};
        if (rng_.chance(0.4)) c.request = tag("purge");
        return c;
      }
      break;
    case 2:
      if (has(Feature::kPurges)) {
        const std::uint64_t n = rumours_.operations.empty()
                                    ? 1 + rng_.below(3)
                                    : rumours_.operations[rng_.below(rumours_.operations.size())];
        if (rng_.chance(0.5)) return core::CancelOperation{rng_.chance(0.1) ? n + 40 : n};
        return core::GetOperation{rng_.chance(0.1) ? n + 40 : n};
      }
      break;
    case 3:
      if (has(Feature::kQueueDeletes)) {
        const std::string& queue = rumours_.queues.back();
        if (!rumours_.leaving.empty() || heirs_.chance(0.2)) return core::DeleteQueue{queue};
        replace(queue);
      }
      break;
    default:
      break;
  }
  return enqueue();
}

}  // namespace rota::sim
