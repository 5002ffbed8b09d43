// SPDX-License-Identifier: Apache-2.0
//
// What is wrong is refused with its reason, and changes nothing else.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string_view>

#include "e2e/live_server.h"

namespace rota::e2e {
namespace {

// A plain connection to a port of this host.
class Socket {
 public:
  explicit Socket(const std::string& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0;
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool connected() const { return connected_; }
  void send_all(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // the server has ended it already
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // Reads until the server ends the connection.
  bool ended_by_server(std::int64_t at_most_ms) const {
    const std::int64_t end_ms = mono_ms() + at_most_ms;
    char buffer[4096];
    while (mono_ms() < end_ms) {
      pollfd wait{fd_, POLLIN, 0};
      if (poll(&wait, 1, 100) <= 0) continue;
      if (recv(fd_, buffer, sizeof(buffer), 0) <= 0) return true;
    }
    return false;
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
};

std::string noise(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 12345;
  for (char& byte : bytes) {
    state = state * 1'664'525 + 1'013'904'223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

class BadInputTest : public LiveServerTest {
 protected:
  void SetUp() override {
    start();
    make_queue("work");
  }

  // Enqueues a job that is refused, and returns the error.
  Error refused_job(const v1::JobSpec& spec) {
    v1::EnqueueJobRequest request;
    *request.mutable_job() = spec;
    return refused(client().enqueue_job(request, patient()));
  }
  Error refused_scheduler(const std::string& cron, const std::string& zone,
                          const std::string& id = "daily") {
    v1::UpsertSchedulerRequest request;
    request.mutable_scheduler()->set_id(id);
    request.mutable_scheduler()->mutable_spec()->add_parts()->set_cron(cron);
    request.mutable_scheduler()->mutable_spec()->set_time_zone(zone);
    request.mutable_scheduler()->mutable_job()->set_queue("work");
    request.mutable_scheduler()->mutable_job()->set_kind("task");
    return refused(client().upsert_scheduler(request, patient()));
  }
};

TEST_F(BadInputTest, GarbageOnThePortEndsThatConnectionOnly) {
  enqueue("one");
  const auto leased = lease();
  ASSERT_EQ(leased.jobs_size(), 1);
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9);
  // A frame that says it is 16 MiB long, of a stream that does not exist.
  const std::string frame("\xff\xff\xff\0\0\0\0\0\7", 9);
  for (const std::string& bytes :
       {noise(100'000), std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), preface + noise(100'000),
        preface + settings + frame + noise(1'000)}) {
    const Socket socket(server_.address());
    ASSERT_TRUE(socket.connected());
    socket.send_all(bytes);
    EXPECT_TRUE(socket.ended_by_server(kPatienceMs)) << bytes.substr(0, 16);
    EXPECT_EQ(beat("session-1", leased.jobs(0)).status(), v1::HeartbeatResult::STATUS_RENEWED);
  }
  // One that says nothing and one that goes in the middle harm nobody either.
  const Socket silent(server_.address());
  { Socket(server_.address()).send_all(preface.substr(0, 5)); }
  EXPECT_EQ(finish(success("session-1", leased.jobs(0))).job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_FALSE(server_.process().poll().has_value());
}

TEST_F(BadInputTest, FieldsOfAJob) {
  Error error = refused_job(job_spec(std::string(256 * 1024 + 1, 'x')));
  EXPECT_EQ(error.reason, "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(error.code, Code::kInvalid);
  EXPECT_NE(error.field.find("payload"), std::string::npos) << error.field;
  EXPECT_NE(error.message.find("256"), std::string::npos) << error.message;

  v1::JobSpec spec = job_spec("x");
  spec.set_kind("no spaces");
  error = refused_job(spec);
  EXPECT_EQ(error.reason, "INVALID_FIELD");
  EXPECT_NE(error.field.find("kind"), std::string::npos) << error.field;

  spec = job_spec("x");
  spec.clear_kind();
  EXPECT_EQ(refused_job(spec).reason, "MISSING_FIELD");

  spec = job_spec("x");
  spec.set_priority(256);
  error = refused_job(spec);
  EXPECT_EQ(error.reason, "INVALID_FIELD");
  EXPECT_NE(error.field.find("priority"), std::string::npos) << error.field;

  spec = job_spec("x");
  spec.set_business_key(std::string(257, 'k'));
  error = refused_job(spec);
  EXPECT_EQ(error.reason, "INVALID_FIELD");
  EXPECT_NE(error.field.find("business_key"), std::string::npos) << error.field;

  EXPECT_EQ(refused_job(job_spec("x", "no-such-queue")).reason, "QUEUE_NOT_FOUND");
  EXPECT_EQ(counters().created(), 0);
  EXPECT_EQ(must(client().list_queues({}, patient())).queues_size(), 1);
}

TEST_F(BadInputTest, FieldsOfAScheduler) {
  EXPECT_EQ(refused_scheduler("0 0 * * *", "Europe/Helsinky").reason, "UNKNOWN_TIME_ZONE");
  EXPECT_EQ(refused_scheduler("0 0 31 4 *", "UTC").reason, "BAD_CRON");
  EXPECT_EQ(refused_scheduler("*/0 * * * *", "UTC").reason, "BAD_CRON");
  EXPECT_EQ(refused_scheduler("0 0 L * *", "UTC").reason, "BAD_CRON");
  EXPECT_EQ(refused_scheduler("0 0 * * *", "UTC", "no spaces").reason, "INVALID_FIELD");
  EXPECT_EQ(must(client().list_schedulers({}, patient())).schedulers_size(), 0);
}

TEST_F(BadInputTest, ABatchWithOneBadItem) {
  v1::BulkEnqueueJobsRequest request;
  *request.add_jobs() = job_spec("good");
  *request.add_jobs() = job_spec(std::string(256 * 1024 + 1, 'x'));
  *request.add_jobs() = job_spec("good too");
  const auto response = must(client().bulk_enqueue_jobs(request, patient()));
  ASSERT_EQ(response.results_size(), 3);
  EXPECT_TRUE(response.results(0).job().created());
  EXPECT_EQ(response.results(1).error().reason(), "PAYLOAD_TOO_LARGE");
  EXPECT_TRUE(response.results(2).job().created());
  EXPECT_EQ(counters().created(), 2);
}

TEST_F(BadInputTest, CallsOverTheLimitsOfACall) {
  v1::BulkEnqueueJobsRequest many;
  for (int i = 0; i < 1'001; ++i) *many.add_jobs() = job_spec("x");
  EXPECT_EQ(refused(client().bulk_enqueue_jobs(many, patient())).reason, "TOO_MANY_ITEMS");

  v1::BulkEnqueueJobsRequest large;
  for (int i = 0; i < 48; ++i) *large.add_jobs() = job_spec(std::string(250 * 1024, 'x'));
  const Error error = refused(client().bulk_enqueue_jobs(large, once()));
  EXPECT_TRUE(error.reason == "MESSAGE_TOO_LARGE" || error.reason == "TOO_MANY_ITEMS")
      << error.reason << ": " << error.message;
  EXPECT_EQ(counters().created(), 0);
}

TEST_F(BadInputTest, UnknownNamespaceEverywhere) {
  const std::string other = "elsewhere";
  v1::EnqueueJobRequest enqueue;
  enqueue.set_namespace_(other);
  *enqueue.mutable_job() = job_spec("x");
  EXPECT_EQ(refused(client().enqueue_job(enqueue, patient())).reason, "NAMESPACE_NOT_FOUND");
  v1::SetQueueRequest set;
  set.set_namespace_(other);
  set.set_queue("work");
  EXPECT_EQ(refused(client().set_queue(set, patient())).reason, "NAMESPACE_NOT_FOUND");
  v1::LeaseJobsRequest lease = lease_request({});
  lease.set_namespace_(other);
  EXPECT_EQ(refused(client().lease_jobs(lease, patient())).reason, "NAMESPACE_NOT_FOUND");
  v1::ListJobsRequest list;
  list.set_namespace_(other);
  list.mutable_filter()->set_queue("work");
  EXPECT_EQ(refused(client().list_jobs(list, patient())).reason, "NAMESPACE_NOT_FOUND");
  v1::ListSchedulersRequest schedulers;
  schedulers.set_namespace_(other);
  EXPECT_EQ(refused(client().list_schedulers(schedulers, patient())).reason, "NAMESPACE_NOT_FOUND");
  v1::GetServerInfoRequest info;
  info.set_namespace_(other);
  EXPECT_EQ(refused(client().get_server_info(info, patient())).reason, "NAMESPACE_NOT_FOUND");
}

TEST_F(BadInputTest, LeaseAndFinish) {
  const Error error = refused(client().lease_jobs(lease_request({.queue = "wrok"}), patient()));
  EXPECT_EQ(error.reason, "QUEUE_NOT_FOUND");
  EXPECT_EQ(error.code, Code::kNotFound);
  EXPECT_EQ(refused(client().lease_jobs(lease_request({.max_jobs = 0}), patient())).code,
            Code::kInvalid);
  EXPECT_EQ(refused(client().lease_jobs(lease_request({.ttl = Millis(1'000)}), patient())).reason,
            "INVALID_FIELD");

  const std::string id = enqueue("one");
  const auto leased = lease();
  ASSERT_EQ(leased.jobs_size(), 1);
  v1::LeasedJob wrong = leased.jobs(0);
  wrong.set_fencing_token(wrong.fencing_token() + 1'000);
  const std::string reason = finish(success("session-1", wrong)).error().reason();
  EXPECT_TRUE(reason == "LEASE_LOST" || reason == "UNKNOWN_LEASE") << reason;
  // A result over the limit is refused and the lease stays.
  EXPECT_EQ(finish(success("session-1", leased.jobs(0), std::string(256 * 1024 + 1, 'r')))
                .error()
                .reason(),
            "RESULT_TOO_LARGE");
  EXPECT_EQ(job(id).state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(finish(success("session-1", leased.jobs(0))).job().state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(BadInputTest, PageTokens) {
  make_queue("other");
  for (int i = 0; i < 3; ++i) enqueue("x");
  v1::ListJobsRequest request;
  request.mutable_filter()->set_queue("work");
  request.set_page_size(1);
  const auto page = must(client().list_jobs(request, patient()));
  ASSERT_EQ(page.jobs_size(), 1);
  ASSERT_FALSE(page.next_page_token().empty());

  v1::ListJobsRequest elsewhere = request;
  elsewhere.set_page_token(page.next_page_token());
  elsewhere.mutable_filter()->set_queue("other");
  EXPECT_EQ(refused(client().list_jobs(elsewhere, patient())).reason, "INVALID_PAGE_TOKEN");
  v1::ListQueuesRequest queues;
  queues.set_page_token(page.next_page_token());
  EXPECT_EQ(refused(client().list_queues(queues, patient())).reason, "INVALID_PAGE_TOKEN");
  v1::ListJobsRequest damaged = request;
  damaged.set_page_token("x" + page.next_page_token());
  EXPECT_EQ(refused(client().list_jobs(damaged, patient())).reason, "INVALID_PAGE_TOKEN");
  v1::ListJobsRequest negative = request;
  negative.set_page_size(-1);
  EXPECT_EQ(refused(client().list_jobs(negative, patient())).code, Code::kInvalid);

  request.set_page_token(page.next_page_token());
  EXPECT_EQ(must(client().list_jobs(request, patient())).jobs_size(), 1);
}

TEST_F(BadInputTest, JobsThatAreNotThere) {
  v1::GetJobRequest request;
  request.set_job_id("Not An Id");
  EXPECT_EQ(refused(client().get_job(request, patient())).reason, "BAD_JOB_ID");
  const std::string id = enqueue("x");
  v1::CancelJobRequest cancel;
  cancel.set_job_id(id);
  EXPECT_EQ(must(client().cancel_job(cancel, patient())).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(refused(client().cancel_job(cancel, patient())).reason, "ALREADY_FINAL");
  v1::RedriveJobRequest redrive;
  redrive.set_job_id(id);
  EXPECT_EQ(refused(client().redrive_job(redrive, patient())).reason, "NOT_DEAD");
  v1::DeleteJobRequest remove;
  remove.set_job_id(id);
  must(client().delete_job(remove, patient()));
  request.set_job_id(id);
  EXPECT_EQ(refused(client().get_job(request, patient())).reason, "JOB_NOT_FOUND");
}

}  // namespace
}  // namespace rota::e2e
