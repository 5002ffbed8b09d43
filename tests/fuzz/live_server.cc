// SPDX-License-Identifier: Apache-2.0
#include "fuzz/live_server.h"

#include <chrono>
#include <utility>
#include <variant>

#include "app/recount.h"
#include "base/log.h"
#include "core/store.h"
#include "rpc/grpc_server.h"

namespace rota::fuzz {
namespace {

// A call that takes longer than this hangs.
constexpr auto kCallTimeout = std::chrono::seconds(5);

grpc::ByteBuffer to_buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string to_bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

LiveServer& LiveServer::instance() {
  static auto& server = *new LiveServer;
  return server;
}

void LiveServer::next_input() {
  if (server_ && ++inputs_ < kInputsOfOneServer) return;
  if (server_) stop();
  start();
  inputs_ = 0;
}

void LiveServer::start() {
  base::log::configure(base::log::Format::kText, base::log::Level::kError);
  disk_ = store::MemoryDisk::create();
  app::ServerSetup setup;
  setup.memory = disk_;
  setup.options.data = "memory";
  setup.options.listen = "127.0.0.1:0";
  setup.on_fatal = [](const app::Stop& stop) {
    FUZZ_CHECK(false, "the server could not go on: " + stop.text);
  };
  auto started = app::Server::start(std::move(setup));
  if (const auto* why = std::get_if<app::Stop>(&started)) {
    FUZZ_CHECK(false, "the server did not start: " + why->text);
  }
  server_ = std::move(std::get<std::unique_ptr<app::Server>>(started));
  rpc::host_of(server_->address(), &port_);
  stub_ = std::make_unique<grpc::GenericStub>(
      grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
}

void LiveServer::stop() {
  stub_.reset();
  server_->stop(0);
  server_.reset();
  core::InlineExecutor executor;
  const auto store = disk_->open(executor);
  FUZZ_CHECK(store != nullptr, "the store was not let go");
  const auto report = app::recount(*store);
  FUZZ_CHECK(report, base::to_string(report.error()));
  FUZZ_CHECK(report->contradictions.empty(), app::to_text(*report));
  store->close();
}

LiveServer::Answer LiveServer::call(const std::string& method, const std::string& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  context.set_wait_for_ready(true);
  grpc::CompletionQueue queue;
  Answer answer;
  grpc::ByteBuffer response;
  const auto reader = stub_->PrepareUnaryCall(&context, method, to_buffer(request), &queue);
  reader->StartCall();
  reader->Finish(&response, &answer.status, &answer);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  answer.bytes = to_bytes(response);
  return answer;
}

}  // namespace rota::fuzz
