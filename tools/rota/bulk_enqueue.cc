// SPDX-License-Identifier: Apache-2.0
#include "rota/bulk_enqueue.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>

#include "base/limits.h"
#include "base/names.h"
#include "internal/clock.h"
#include "rota/job_line.h"
#include "rota/output.h"

namespace rota::cli {
namespace {

namespace limits = base::limits;

// A payload of the largest size with each byte as \u0000, and room for the other fields.
constexpr std::size_t kLineBytesMax = 6 * limits::kPayloadBytesMax + 1024 * 1024;
constexpr std::size_t kCallBytes = limits::kCallBytesMax - 1024;
constexpr std::size_t kFrameBytes = 16;        // around each job
constexpr std::size_t kExactFrom = 64 * 1024;  // from here on a job is measured, not estimated
constexpr std::size_t kWriteBytes = 256 * 1024;

std::atomic<int> g_signal{0};
std::atomic<int> g_signals{0};  // how many came
std::atomic<int> g_wake_fd{-1};

void wake(int fd) {
  const std::uint64_t one = 1;
  // Only a counter at its very top can refuse, and then the reader is awake anyhow.
  [[maybe_unused]] const ssize_t written = write(fd, &one, sizeof(one));
}

}  // namespace

// What is read from neighbouring lines and sent in one call.
struct BulkEnqueue::Batch {
  v1::BulkEnqueueJobsRequest request;
  struct Line {
    std::int64_t number = 0;
    int error = -1;  // place in `errors`; -1: a job of the request
  };
  std::vector<Line> lines;
  std::vector<Error> errors;
  bool unsent = false;  // what has no error of its own was never sent, and `errors` ends with why
  std::string request_id;
  std::size_t bytes = 0;
  bool answered = false;
  std::optional<Result<v1::BulkEnqueueJobsResponse>> answer;
};

struct BulkEnqueue::Held {
  v1::JobSpec job;
  std::int64_t line = 0;
  std::size_t bytes = 0;
};

// Where answers arrive, on threads of the transport.
struct BulkEnqueue::Mailbox {
  struct Letter {
    Batch* batch = nullptr;
    Result<v1::BulkEnqueueJobsResponse> answer;
  };
  Mailbox() : fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Mailbox() {
    if (g_wake_fd.load() == fd) g_wake_fd.store(-1);
    close(fd);
  }

  const int fd;
  std::atomic<bool> any{false};  // whether `letters` is worth its lock
  std::mutex mutex;
  std::vector<Letter> letters;
  internal::BootTime last_at{};
};

std::string BulkSummary::text() const {
  const std::int64_t accepted = created + existed;
  std::string out = fmt::format("{} jobs accepted", accepted);
  if (existed > 0) out += fmt::format(" ({} existed already)", existed);
  out += fmt::format(", {} refused", refused);
  if (unknown > 0) out += fmt::format(", {} unknown (they may have been created)", unknown);
  if (unsent > 0) out += fmt::format(", {} not sent", unsent);
  out += fmt::format("; {:.3f} s from the first byte read to the last acknowledgement", seconds);
  if (seconds > 0) {
    out += fmt::format(", {:.0f} jobs/s", static_cast<double>(accepted) / seconds);
  }
  if (stopped) out += fmt::format("; stopped after line {}, the rest was not sent", last_line);
  return out;
}

BulkEnqueue::BulkEnqueue(BulkSend send, BulkOptions options)
    : send_(std::move(send)), options_(std::move(options)), mailbox_(std::make_shared<Mailbox>()) {}

BulkEnqueue::~BulkEnqueue() = default;

void BulkEnqueue::stop(int signal) {
  g_signal.store(signal);
  if (g_signals.fetch_add(1) >= 2) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  const int fd = g_wake_fd.load();
  if (fd >= 0) wake(fd);
}

BulkEnqueue::Batch& BulkEnqueue::open_batch() {
  if (!open_) {
    open_ = std::make_unique<Batch>();
    open_->request.set_namespace_(options_.name_space);
    open_->request.mutable_jobs()->Reserve(limits::kCallItemsMax);
    open_->lines.reserve(limits::kCallItemsMax);
  }
  return *open_;
}

void BulkEnqueue::add_refused(Error error) {
  Batch& batch = open_batch();
  batch.lines.push_back({reader_->line_number(), static_cast<int>(batch.errors.size())});
  batch.errors.push_back(std::move(error));
}

void BulkEnqueue::take_line(std::string_view line, bool too_long) {
  if (too_long) {
    add_refused(usage_error("", fmt::format("the line is longer than {}, which no job needs",
                                            base::format_bytes(kLineBytesMax))));
    return;
  }
  if (line.find_first_not_of(" \t") == std::string_view::npos) return;
  Batch& batch = open_batch();
  v1::JobSpec* job = batch.request.add_jobs();
  Error error;
  if (!parse_job_line(line, job, &error)) {
    batch.request.mutable_jobs()->RemoveLast();
    add_refused(std::move(error));
    return;
  }
  // No field takes more bytes in the message than in the line.
  const std::size_t bytes =
      (line.size() < kExactFrom ? line.size() : job->ByteSizeLong()) + kFrameBytes;
  if (bytes > kCallBytes) {
    batch.request.mutable_jobs()->RemoveLast();
    error = usage_error("", fmt::format("the job is larger than {}, the limit of one call",
                                        base::format_bytes(limits::kCallBytesMax)));
    error.reason = "TOO_MANY_ITEMS";
    add_refused(std::move(error));
    return;
  }
  if (batch.bytes + bytes > kCallBytes) {
    held_ = std::make_unique<Held>();
    held_->job.Swap(job);
    held_->line = reader_->line_number();
    held_->bytes = bytes;
    batch.request.mutable_jobs()->RemoveLast();
    return;
  }
  batch.lines.push_back({reader_->line_number(), -1});
  batch.bytes += bytes;
}

bool BulkEnqueue::batch_is_full() const {
  return held_ || (open_ && open_->lines.size() >= limits::kCallItemsMax);
}

// The job that did not fit into the batch before.
void BulkEnqueue::place_held() {
  if (!held_) return;
  Batch& batch = open_batch();
  batch.request.add_jobs()->Swap(&held_->job);
  batch.lines.push_back({held_->line, -1});
  batch.bytes = held_->bytes;
  held_.reset();
}

void BulkEnqueue::send_batch() {
  if (!open_ || open_->lines.empty()) return;
  Batch* batch = open_.get();
  batches_.push_back(std::move(open_));
  place_held();
  if (batch->request.jobs().empty()) {
    batch->answered = true;
    return;
  }
  const std::string id = options_.request_id.empty()
                             ? internal::random_hex(16)
                             : fmt::format("{}:{}", options_.request_id, calls_);
  ++calls_;
  batch->request_id = id;
  batch->request.set_request_id(id);
  send_(std::move(batch->request),
        [mailbox = mailbox_, batch](Result<v1::BulkEnqueueJobsResponse> answer) {
          {
            std::lock_guard lock(mailbox->mutex);
            mailbox->last_at = internal::BootClock::now();
            mailbox->letters.push_back({batch, std::move(answer)});
            mailbox->any.store(true, std::memory_order_release);
          }
          wake(mailbox->fd);
        });
}

// What was read and cannot be sent any more.
void BulkEnqueue::refuse_unsent(const Error& error) {
  while (open_) {
    open_->unsent = true;
    open_->errors.push_back(error);
    open_->answered = true;
    batches_.push_back(std::move(open_));
    place_held();
  }
}

// Nobody waits for these answers any more: collect() must not be called afterwards.
void BulkEnqueue::give_up_in_flight() {
  for (auto& batch : batches_) {
    if (batch->answered) continue;
    Error error;
    error.code = Code::kUnavailable;
    error.reason = "INTERRUPTED";
    error.message = "a second signal ended the wait for the answer";
    error.may_have_happened = true;
    error.request_id = batch->request_id;
    batch->answered = true;
    batch->answer.emplace(std::move(error));
  }
}

void BulkEnqueue::collect() {
  if (!mailbox_->any.load(std::memory_order_acquire)) return;
  std::vector<Mailbox::Letter> letters;
  {
    std::lock_guard lock(mailbox_->mutex);
    letters.swap(mailbox_->letters);
    mailbox_->any.store(false, std::memory_order_relaxed);
  }
  for (auto& letter : letters) {
    letter.batch->answered = true;
    letter.batch->answer.emplace(std::move(letter.answer));
  }
}

void BulkEnqueue::render_result(const v1::BulkEnqueueResult& result, std::int64_t line) {
  if (result.has_error()) {
    const v1::ItemError& item = result.error();
    Error error;
    error.code = code_of_status(item.code());
    error.reason = item.reason();
    error.field = line_field(item.field());
    error.message = line_message(item.message());
    render_error(error, line);
    return;
  }
  const v1::EnqueuedJob& job = result.job();
  ++(job.created() ? summary_.created : summary_.existed);
  text_ += "{\"id\": \"";
  text_ += job.id();
  text_ += job.created() ? "\", \"created\": true}\n" : "\", \"created\": false}\n";
}

void BulkEnqueue::render_error(const Error& error, std::int64_t line, Fate fate) {
  ++(fate == Fate::kUnknown  ? summary_.unknown
     : fate == Fate::kUnsent ? summary_.unsent
                             : summary_.refused);
  if (summary_.code == kExitOk) summary_.code = exit_code(error);
  Error shown = error;
  shown.may_have_happened = fate == Fate::kUnknown;
  if (shown.may_have_happened) shown.message += "; the job may have been created";
  text_ += fmt::format("{{\"line\": {}, \"error\": {}}}\n", line, json_error(shown));
}

void BulkEnqueue::render(Batch& batch, std::FILE* out) {
  Error missing;
  missing.reason = "INTERNAL";
  missing.message = "the server gave no result for this job";
  missing.request_id = batch.request_id;
  int next = 0;
  for (const Batch::Line& line : batch.lines) {
    if (line.error >= 0) {
      render_error(batch.errors[static_cast<std::size_t>(line.error)], line.number);
    } else if (batch.unsent) {
      render_error(batch.errors.back(), line.number, Fate::kUnsent);
    } else if (!*batch.answer) {
      Error whole = batch.answer->error();  // of the call
      drop_repeated_field(&whole);
      whole.field = line_field(whole.field);
      whole.message = line_message(whole.message);
      render_error(whole, line.number,
                   whole.may_have_happened                ? Fate::kUnknown
                   : whole.reason == "SERVER_UNREACHABLE" ? Fate::kUnsent
                                                          : Fate::kRefused);
    } else if (next < (*batch.answer)->results_size()) {
      render_result((*batch.answer)->results(next++), line.number);
    } else {
      render_error(missing, line.number, Fate::kUnknown);
    }
    if (text_.size() >= kWriteBytes) {
      std::fwrite(text_.data(), 1, text_.size(), out);
      text_.clear();
    }
  }
  std::fwrite(text_.data(), 1, text_.size(), out);
  text_.clear();
  std::fflush(out);
}

// Until a letter or a signal comes, or, `for_input`, something can be read.
void BulkEnqueue::wait(bool for_input) {
  pollfd ready[2] = {{.fd = mailbox_->fd, .events = POLLIN, .revents = 0},
                     {.fd = in_, .events = POLLIN, .revents = 0}};
  poll(ready, for_input ? 2 : 1, -1);
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(mailbox_->fd, &count, sizeof(count));
}

BulkSummary BulkEnqueue::run(int in, std::FILE* out) {
  in_ = in;
  reader_ = std::make_unique<LineReader>(in, kLineBytesMax);
  g_signal.store(0);
  g_signals.store(0);
  g_wake_fd.store(mailbox_->fd);
  const auto most = static_cast<std::size_t>(std::max(1, options_.in_flight));
  bool ended = false, gave_up = false;
  while (true) {
    if (!gave_up) collect();
    if (g_signals.load() > 1 && !gave_up) {
      gave_up = true;
      give_up_in_flight();
    }
    while (!batches_.empty() && batches_.front()->answered) {
      Batch& batch = *batches_.front();
      if (batch.answer && !*batch.answer && !summary_.stopped) {
        // A server that is only overloaded may take the next call; all else would meet it too.
        const Error& error = batch.answer->error();
        if (error.code != Code::kExhausted) summary_.stopped = error;
      }
      render(batch, out);
      batches_.pop_front();
      if (std::ferror(out) != 0 && !summary_.stopped) {
        // Ids that nobody sees are of no use: what is not sent yet stays so.
        Error error;
        error.reason = "OUTPUT_UNWRITABLE";
        error.message = fmt::format("standard output: {}", std::strerror(errno));
        summary_.stopped = error;
      }
    }
    if (g_signal.load() != 0 && !summary_.stopped) {
      Error error;
      error.code = Code::kUnavailable;
      error.reason = "INTERRUPTED";
      error.message = "a signal ended the input before this job was sent";
      summary_.stopped = error;
    }
    if (summary_.stopped && !(ended && !open_)) {
      Error unsent = *summary_.stopped;
      unsent.may_have_happened = false;
      refuse_unsent(unsent);
      ended = true;
      continue;
    }
    const bool room = batches_.size() < most;
    if (ended && !open_) {
      if (batches_.empty()) break;
      wait(false);
      continue;
    }
    if (open_ && (ended || batch_is_full())) {
      if (room) {
        send_batch();
      } else {
        wait(false);
      }
      continue;
    }
    std::string_view line;
    const LineReader::Got got = reader_->next(&line);
    if (got == LineReader::Got::kLine || got == LineReader::Got::kTooLong) {
      take_line(line, got == LineReader::Got::kTooLong);
    } else if (got == LineReader::Got::kEnd) {
      ended = true;
    } else if (got == LineReader::Got::kFault) {
      Error error;
      error.reason = "INPUT_UNREADABLE";
      error.message = fmt::format("standard input: {}", std::strerror(errno));
      summary_.stopped = error;
    } else if (got == LineReader::Got::kEndless) {
      Error error = usage_error("", fmt::format("line {} has no end: nothing behind it was read",
                                                reader_->line_number()));
      error.reason = "INPUT_UNREADABLE";
      summary_.stopped = error;
    } else if (open_ && batches_.empty() && options_.request_id.empty()) {
      send_batch();
    } else if (got == LineReader::Got::kNotYet) {
      wait(true);
    }
  }
  summary_.last_line = reader_->line_number();
  if (reader_->saw_bytes()) {
    auto last = mailbox_->last_at;
    if (last == internal::BootTime{}) last = internal::BootClock::now();
    summary_.seconds = std::chrono::duration<double>(last - reader_->first_byte_at()).count();
  }
  if (summary_.stopped && summary_.code == kExitOk) summary_.code = exit_code(*summary_.stopped);
  if (const int signal = g_signal.load(); signal != 0) {
    summary_.code = signal == SIGINT ? kExitInterrupted : kExitTerminated;
  }
  return summary_;
}

}  // namespace rota::cli
