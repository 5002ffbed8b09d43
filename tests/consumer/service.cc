// SPDX-License-Identifier: Apache-2.0
#include <rota/client.h>

#include <cstdio>

#if defined(GRPCPP_GRPCPP_H) || defined(GOOGLE_PROTOBUF_VERSION) || defined(ABSL_BASE_CONFIG_H_)
#error "the public headers must not bring gRPC, protobuf or Abseil"
#endif

int main() {
  using namespace std::chrono_literals;
  auto client = rota::Client::create({.address = "127.0.0.1:1", .timeout = 100ms});
  if (!client) return 1;
  auto job = client->enqueue({.queue = "invoices",
                              .kind = "make-invoice",
                              .payload = R"({"customer":42})",
                              .retry = rota::Retry{.max_attempts = 8},
                              .business_key = "invoice/42"});
  // Nobody listens there: what counts is that the library is found, loaded and answers.
  const bool as_expected =
      !job && job.error().code == rota::Code::kUnavailable && !job.error().may_have_happened;
  std::puts(as_expected ? "ok" : "unexpected");
  return as_expected ? 0 : 1;
}
