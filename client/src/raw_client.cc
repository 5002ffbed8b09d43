// SPDX-License-Identifier: Apache-2.0
#include "internal/raw_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <future>

#include "src/call.h"
#include "src/transport.h"

namespace rota::internal {

Result<RawClient> RawClient::create(const ClientOptions& options) {
  auto transport = Transport::create(options);
  if (!transport) return std::move(transport).error();
  return RawClient(*std::move(transport));
}

RawClient::RawClient(std::shared_ptr<Transport> transport) : transport_(std::move(transport)) {}
RawClient::RawClient(const RawClient&) = default;
RawClient& RawClient::operator=(const RawClient&) = default;
RawClient::RawClient(RawClient&&) noexcept = default;
RawClient& RawClient::operator=(RawClient&&) noexcept = default;
RawClient::~RawClient() = default;

#define ROTA_RPC(Service, Method, name)                                                            \
  Result<v1::Method##Response> RawClient::name(v1::Method##Request request, CallOptions options) { \
    auto& stub = transport_->stub(static_cast<const v1::Service*>(nullptr));                       \
    return blocking_call<v1::Method##Response>(                                                    \
        *transport_, #Method, std::move(request), options,                                         \
        [&stub](grpc::ClientContext* context, const v1::Method##Request& message,                  \
                v1::Method##Response* response) {                                                  \
          return stub.Method(context, message, response);                                          \
        });                                                                                        \
  }                                                                                                \
  void RawClient::name##_async(v1::Method##Request request, CallOptions options,                   \
                               std::function<void(Result<v1::Method##Response>)> done) {           \
    auto& stub = transport_->stub(static_cast<const v1::Service*>(nullptr));                       \
    CallbackCall<v1::Method##Request, v1::Method##Response>::begin(                                \
        *transport_, #Method, std::move(request), options,                                         \
        [&stub](grpc::ClientContext* context, const v1::Method##Request* message,                  \
                v1::Method##Response* response, std::function<void(grpc::Status)> end) {           \
          stub.async()->Method(context, message, response, std::move(end));                        \
        },                                                                                         \
        std::move(done));                                                                          \
  }
#include "internal/rpcs.inc"
#undef ROTA_RPC

namespace {

// grpc.health.v1 needs two fields of one byte; its messages are written by hand to spare the proto.
std::string health_request(const std::string& service) {
  std::string bytes;
  if (!service.empty() && service.size() < 128) {
    bytes.push_back('\x0a');
    bytes.push_back(static_cast<char>(service.size()));
    bytes += service;
  }
  return bytes;
}

std::string health_status(const std::string& bytes) {
  static constexpr const char* kNames[] = {"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"};
  const bool has_status = bytes.size() >= 2 && bytes[0] == '\x08' && bytes[1] >= 0 && bytes[1] <= 3;
  return kNames[has_status ? bytes[1] : 0];
}

std::string to_string(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const auto& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

Result<std::string> RawClient::health(const std::string& service, Millis timeout) {
  grpc::GenericStub stub(transport_->channel());
  const std::string bytes = health_request(service);
  const grpc::Slice slice(bytes);
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  CancellableContext handle;
  if (!transport_->enter(&handle)) return closed_error();
  std::promise<grpc::Status> ended;
  stub.UnaryCall(handle.next(timeout), "/grpc.health.v1.Health/Check", grpc::StubOptions(),
                 &request, &response,
                 [&ended](grpc::Status status) { ended.set_value(std::move(status)); });
  const grpc::Status status = ended.get_future().get();
  handle.end_try();
  transport_->leave(&handle);
  if (status.ok()) return health_status(to_string(response));
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) return std::string("SERVICE_UNKNOWN");
  return to_fault(status).error;
}

Result<Ok> RawClient::wait_for_server(Millis at_most) {
  // Short tries, so that a server that accepts and does not answer is asked again.
  const BootTime deadline = BootClock::now() + at_most;
  int failures = 0;
  while (true) {
    const auto left = std::chrono::ceil<Millis>(deadline - BootClock::now());
    const Millis timeout = std::clamp(left, Millis(250), Millis(2'000));
    auto info = get_server_info({}, {.timeout = timeout, .repeat = false});
    const bool away =
        !info && (info.error().code == Code::kUnavailable || info.error().code == Code::kTimeout);
    if (info) return Ok{};
    const Millis pause = full_jitter(failures++, Millis(50), Millis(500), Millis(10));
    if (!away || BootClock::now() + pause >= deadline || !transport_->sleep(pause)) {
      return std::move(info).error();
    }
  }
}

const std::string& RawClient::address() const { return transport_->address(); }

void RawClient::close() { transport_->close(); }

}  // namespace rota::internal
