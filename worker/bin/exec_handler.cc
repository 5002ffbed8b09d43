// SPDX-License-Identifier: Apache-2.0
#include "bin/exec_handler.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "src/event.h"

namespace rota::worker {
namespace {

using internal::BootClock;
using internal::BootTime;

constexpr std::size_t kResultBytes = static_cast<std::size_t>(base::limits::kResultBytesMax);
constexpr std::size_t kErrorTailBytes = 400;  // of what goes into the failure's message
constexpr int kSnoozeCode = 75;               // EX_TEMPFAIL
constexpr Millis kPutOffFirst{1'000}, kPutOffMax{60'000};  // while no process can be started
// Read from each pipe before the next look at stop and deadline. More than a pipe holds, so that
// the last look takes all that the command has written.
constexpr std::size_t kReadBytesPerLook = 256U << 10;

std::string rfc3339(Time time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t whole = seconds.time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&whole, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  std::string out(text, length);
  const auto ms = (time - seconds).count();
  if (ms != 0) {
    char fraction[8];
    std::snprintf(fraction, sizeof(fraction), ".%03d", static_cast<int>(ms));
    out += fraction;
  }
  return out + "Z";
}

void close_end(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

// One command from start to end: feeds it, reads it, stops it when told to.
class Supervision {
 public:
  Supervision(Child child, Context& context, Millis grace, const GroupGuard* guard)
      : child_(child),
        context_(context),
        grace_(grace),
        guard_(guard),
        input_(context.job().payload) {}
  ~Supervision() {
    for (int* end : {&child_.input, &child_.output, &child_.error, &child_.pid_descriptor}) {
      close_end(*end);
    }
  }

  // The wait status of the command.
  int run() {
    const std::stop_callback on_stop(context_.stop(), [this] { told_.set(); });
    feed();
    while (!ended()) step();
    read_from(child_.output, true);
    read_from(child_.error, false);
    flush_line(output_line_);
    flush_line(error_line_);
    return end();
  }

  std::string result() && { return std::move(result_); }
  bool truncated() const { return truncated_; }
  const std::string& error_tail() const { return error_tail_; }
  bool told_to_stop() const { return kill_at_.has_value(); }
  // Code 0 then says that the work is done. After TERM it may as well mean gone in good order, and
  // to do a job again is the lesser evil; but a cancelled job is not done again, and to call one
  // that did its work CANCELLED would let its effect be made once more.
  bool zero_is_success() const {
    return !told_to_stop() || context_.stop_reason() == StopReason::kCancel;
  }

 private:
  bool ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(child_.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child_.pid;
  }

  // Whatever the command left in its group has no lease any more. Not yet reaped, the command keeps
  // the group's number from being given to somebody else.
  int end() {
    kill(-child_.pid, SIGKILL);
    if (guard_ != nullptr) guard_->ended(child_.pid);
    int status = 0;
    while (waitpid(child_.pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  void step() {
    pollfd waits[5] = {{child_.pid_descriptor, POLLIN, 0},
                       {told_.descriptor(), static_cast<short>(kill_at_ ? 0 : POLLIN), 0},
                       {child_.output, POLLIN, 0},
                       {child_.error, POLLIN, 0},
                       {child_.input, POLLOUT, 0}};
    if (poll(waits, 5, timeout_ms()) < 0) return;
    if (waits[2].revents != 0) read_from(child_.output, true);
    if (waits[3].revents != 0) read_from(child_.error, false);
    if (waits[4].revents != 0) feed();
    if (waits[1].revents != 0 && !kill_at_) terminate();
    if (kill_at_ && BootClock::now() >= *kill_at_) kill(-child_.pid, SIGKILL);
  }

  int timeout_ms() const {
    // Without a pidfd (an old kernel) the end is only seen by looking.
    const int look = child_.pid_descriptor >= 0 ? -1 : 20;
    if (!kill_at_) return look;
    const auto left = std::chrono::ceil<Millis>(*kill_at_ - BootClock::now()).count();
    return static_cast<int>(std::clamp<long>(left, 1, look < 0 ? 1'000 : look));
  }

  void terminate() {
    if (ended()) return;  // by itself, before it was told: what it says counts
    kill_at_ = BootClock::now() + std::min(grace_, context_.time_left());
    kill(-child_.pid, SIGTERM);
  }

  void feed() {
    while (child_.input >= 0 && !input_.empty()) {
      const ssize_t written = write(child_.input, input_.data(), input_.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && errno == EAGAIN) return;
      if (written < 0) break;  // it does not read: its own choice
      input_.remove_prefix(static_cast<std::size_t>(written));
    }
    close_end(child_.input);
  }

  // A command may write faster than this reads, and what it has left behind may after its end.
  void read_from(int& descriptor, bool is_output) {
    char buffer[16384];
    std::size_t taken = 0;
    while (descriptor >= 0 && taken < kReadBytesPerLook) {
      const ssize_t got = read(descriptor, buffer, sizeof(buffer));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) return close_end(descriptor);
      taken += static_cast<std::size_t>(got);
      take({buffer, static_cast<std::size_t>(got)}, is_output);
    }
  }

  void take(std::string_view text, bool is_output) {
    if (is_output) {
      const std::size_t room = kResultBytes - result_.size();
      result_.append(text.substr(0, room));
      truncated_ = truncated_ || text.size() > room;
    } else {
      error_tail_.append(text);
      if (error_tail_.size() > 2 * kErrorTailBytes) {
        error_tail_.erase(0, error_tail_.size() - kErrorTailBytes);
      }
    }
    std::string& line = is_output ? output_line_ : error_line_;
    line.append(text);
    const auto last = line.rfind('\n');
    if (last != std::string::npos) {
      context_.log(std::string_view(line).substr(0, last + 1));
      line.erase(0, last + 1);
    } else if (line.size() > static_cast<std::size_t>(base::limits::kLogTailBytesMax)) {
      flush_line(line);
    }
  }

  void flush_line(std::string& line) {
    if (!line.empty()) context_.log(line);
    line.clear();
  }

  Child child_;
  Context& context_;
  const Millis grace_;
  const GroupGuard* const guard_;
  std::string_view input_;
  internal::Event told_;
  std::optional<BootTime> kill_at_;
  std::string result_, error_tail_, output_line_, error_line_;
  bool truncated_ = false;
};

std::string last_line(std::string text) {
  if (text.size() > kErrorTailBytes) text.erase(0, text.size() - kErrorTailBytes);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  const auto newline = text.rfind('\n');
  return newline == std::string::npos ? text : text.substr(newline + 1);
}

Outcome to_outcome(int status, Supervision&& supervision) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && supervision.zero_is_success()) {
    const bool truncated = supervision.truncated();
    Outcome outcome = Outcome::succeed(std::move(supervision).result());
    return truncated ? std::move(outcome).truncated() : outcome;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSnoozeCode) return Outcome::snooze();
  std::string why;
  if (WIFEXITED(status)) {
    why = "exit " + std::to_string(WEXITSTATUS(status));
  } else {
    const char* name = sigabbrev_np(WTERMSIG(status));
    why = std::string("signal ") + (name != nullptr ? name : std::to_string(WTERMSIG(status)));
  }
  if (supervision.told_to_stop()) why += " after it was told to stop";
  const std::string line = last_line(supervision.error_tail());
  if (!line.empty()) why += "; stderr: \"" + line + "\"";
  return Outcome::fail(std::move(why)).with_type(WIFEXITED(status) ? "exit" : "signal");
}

}  // namespace

std::vector<std::string> environment_of(const Job& job) {
  std::vector<std::string> variables = {
      "ROTA_JOB_ID=" + job.id,
      "ROTA_ATTEMPT=" + std::to_string(job.attempt),
      "ROTA_FENCING_TOKEN=" + std::to_string(job.fencing_token),
      "ROTA_QUEUE=" + job.queue,
      "ROTA_KIND=" + job.kind,
      "ROTA_BUSINESS_KEY=" + job.business_key,
      "ROTA_SCHEDULER_ID=" + job.scheduler_id,
      "ROTA_IDEMPOTENCY_KEY=" + job.idempotency_key,
  };
  std::string times;
  for (const Time& time : job.nominal_times) times += (times.empty() ? "" : " ") + rfc3339(time);
  variables.push_back("ROTA_NOMINAL_TIME=" + times);
  std::string date;
  if (job.business_date.ok()) {
    char text[32];
    std::snprintf(text, sizeof(text), "%04d-%02u-%02u", static_cast<int>(job.business_date.year()),
                  static_cast<unsigned>(job.business_date.month()),
                  static_cast<unsigned>(job.business_date.day()));
    date = text;
  }
  variables.push_back("ROTA_BUSINESS_DATE=" + date);
  return variables;
}

ExecHandler::ExecHandler(std::vector<std::string> command, Millis grace,
                         std::vector<std::string> environment, internal::LogFunction log,
                         const GroupGuard* guard)
    : command_(std::move(command)),
      environment_(std::move(environment)),
      grace_(grace),
      guard_(guard),
      warnings_(log ? std::move(log) : [](int, std::string_view) {}) {
  signal(SIGPIPE, SIG_IGN);  // a command that does not read its input is no reason to end
}

Outcome ExecHandler::operator()(Context& context) {
  Command command{
      .arguments = command_, .environment = environment_of(context.job()), .guard = guard_};
  command.environment.insert(command.environment.end(), environment_.begin(), environment_.end());
  auto child = spawner_.start(command);
  if (!child) {
    if (child.error().code != Code::kInvalid) return put_off(context, child.error().message);
    return Outcome::fail(child.error().message).with_type("spawn");
  }
  Supervision supervision(*child, context, grace_, guard_);
  const int status = supervision.run();
  return to_outcome(status, std::move(supervision));
}

Outcome ExecHandler::put_off(Context& context, const std::string& why) {
  const Job& job = context.job();
  const int doublings = std::clamp(job.attempt - 1, 0, 6);
  const Millis pause = std::min(kPutOffFirst * (1 << doublings), kPutOffMax);
  context.log(why);
  warnings_.warn("job " + job.id + ", attempt " + std::to_string(job.attempt) +
                 " is put off: " + why);
  return Outcome::snooze(std::chrono::floor<Millis>(std::chrono::system_clock::now()) + pause);
}

}  // namespace rota::worker
