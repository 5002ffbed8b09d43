// SPDX-License-Identifier: Apache-2.0
#include "rota/client.h"

#include <utility>

#include "internal/access.h"
#include "src/client_core.h"
#include "src/status.h"

namespace rota {

Result<Client> Client::create(ClientOptions options) {
  auto raw = internal::RawClient::create(options);
  if (!raw) return std::move(raw).error();
  return Client(std::make_shared<internal::ClientCore>(std::move(options), *std::move(raw)));
}

Client::Client(std::shared_ptr<internal::ClientCore> core) : core_(std::move(core)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<JobRef> Client::enqueue(JobSpec spec) { return core_->enqueue(std::move(spec)); }

void Client::enqueue_async(JobSpec spec, std::function<void(Result<JobRef>)> done) {
  core_->enqueue_async(std::move(spec), std::move(done));
}

std::vector<Result<JobRef>> Client::enqueue_bulk(std::vector<JobSpec> specs,
                                                 std::string request_id) {
  return core_->enqueue_bulk(std::move(specs), std::move(request_id));
}

Result<JobInfo> Client::get(std::string_view id) { return core_->get(id); }

Result<JobInfo> Client::wait(std::string_view id, Millis at_most) {
  return core_->wait(id, at_most);
}

Result<JobState> Client::cancel(std::string_view id, std::string why) {
  return core_->cancel(id, std::move(why));
}

Result<Declared> Client::declare(SchedulerSpec spec) { return core_->declare(std::move(spec)); }

Result<Ok> Client::declare_queue(QueueSpec spec) { return core_->declare_queue(std::move(spec)); }

bool Client::close(Millis at_most) { return core_->close(at_most); }

namespace internal {

LogFunction client_log(const Client& client) {
  const LogFunction& log = ClientAccess::core(client)->options().log;
  return log ? log : [](int, std::string_view) {};
}

}  // namespace internal
}  // namespace rota
