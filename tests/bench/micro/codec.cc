// SPDX-License-Identifier: Apache-2.0
//
// Records as bytes and back: the body of a job, the grant of a lease reply, keys, ids.
#include <benchmark/benchmark.h>

#include <string>

#include "model/job.h"
#include "model/job_id.h"
#include "model/keys.h"
#include "model/records.h"

namespace rota::measure {
namespace {

model::JobBody body(std::size_t payload_bytes) {
  model::JobBody body;
  body.kind = "send-invoice";
  body.content_type = "application/json";
  body.payload.assign(payload_bytes, 'p');
  body.payload_bytes = payload_bytes;
  body.created_ms = 1'795'953'600'000;
  body.created_seq = 123'456;
  body.principal = "local";
  return body;
}

void encode_body(benchmark::State& state) {
  const model::JobBody value = body(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(model::encode(value));
}
BENCHMARK(encode_body)->Name("codec/encode_body")->Arg(200)->Arg(4'096);

void decode_body(benchmark::State& state) {
  const std::string bytes = model::encode(body(static_cast<std::size_t>(state.range(0))));
  for (auto _ : state) {
    model::JobBody value;
    if (!model::decode(bytes, &value)) return state.SkipWithError("does not decode");
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK(decode_body)->Name("codec/decode_body")->Arg(200)->Arg(4'096);

model::Grant grant(std::int64_t jobs) {
  model::Grant grant;
  grant.session_id = "0123456789abcdef0123456789abcdef";
  grant.worker_id = "worker-1";
  grant.principal = "local";
  grant.request_hash.assign(32, 'h');
  grant.ttl_ms = 30'000;
  grant.granted_ms = 1'795'953'600'000;
  grant.granted_seq = 123'456;
  for (std::int64_t i = 0; i < jobs; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    grant.entries.push_back({.job = {.queue = 7, .priority = 100, .seq = 1'000'000 + number},
                             .attempt = 1,
                             .token = 5'000'000 + number,
                             .attempt_timeout_ms = 3'600'000});
  }
  return grant;
}

void encode_grant(benchmark::State& state) {
  const model::Grant value = grant(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(model::encode(value));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(encode_grant)->Name("codec/encode_grant")->Arg(1)->Arg(100);

void decode_grant(benchmark::State& state) {
  const std::string bytes = model::encode(grant(state.range(0)));
  for (auto _ : state) {
    model::Grant value;
    if (!model::decode(bytes, &value)) return state.SkipWithError("does not decode");
    benchmark::DoNotOptimize(value);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(decode_grant)->Name("codec/decode_grant")->Arg(1)->Arg(100);

void job_key(benchmark::State& state) {
  model::JobKey key{.queue = 7, .priority = 100, .seq = 1};
  for (auto _ : state) {
    ++key.seq;
    benchmark::DoNotOptimize(model::keys::job(key));
  }
}
BENCHMARK(job_key)->Name("codec/job_key");

void job_id_and_back(benchmark::State& state) {
  model::JobKey key{.queue = 7, .priority = 100, .seq = 1};
  for (auto _ : state) {
    ++key.seq;
    const auto read = model::parse_job_id(model::job_id(key));
    if (!read || *read != key) return state.SkipWithError("an id does not lead back");
  }
}
BENCHMARK(job_id_and_back)->Name("codec/job_id_and_back");

}  // namespace
}  // namespace rota::measure
