// SPDX-License-Identifier: Apache-2.0
// `rota job enqueue -`: JSON lines in, bulk calls out, one line of outcome for each line of input.
//
// Several calls are in flight at once, each with a request id of its own, so that it can be
// repeated safely. A call is cut at 1,000 lines or 8 MiB; when the input pauses, what was read is
// sent as soon as no call is in flight, so that a slow producer sees its jobs acknowledged and a
// fast one fills its calls. Memory is bounded by the calls in flight.
#pragma once

#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rota/error.h"
#include "rota/exit_code.h"
#include "rota/line_reader.h"
#include "rota/v1/job_service.pb.h"

namespace rota::cli {

// Sends one call; `done` is called exactly once, on any thread.
using BulkSend = std::function<void(v1::BulkEnqueueJobsRequest request,
                                    std::function<void(Result<v1::BulkEnqueueJobsResponse>)> done)>;

struct BulkOptions {
  std::string name_space{};
  int in_flight = 4;  // calls at once; 1 keeps the order of all jobs, more only within a call
  // Set: the calls are cut by count and size alone, and the ids are ID:0, ID:1, ...: the same input
  // with the same id again creates nothing twice. Empty: random ids.
  std::string request_id{};
};

struct BulkSummary {
  std::int64_t created = 0, existed = 0;
  std::int64_t refused = 0;  // by the server, or before it was asked
  std::int64_t unknown = 0;  // sent, and no answer came: created or not
  std::int64_t unsent = 0;   // read, and given to no server
  double seconds = 0;        // from the first byte read to the last acknowledgement
  int code = kExitOk;        // of the first line that was not accepted, or of what ended it
  // Set when the input was not read to its end: what stopped it, and the last line that was read.
  std::optional<Error> stopped{};
  std::int64_t last_line = 0;

  // "100000 jobs accepted, 0 refused; 0.213 s ..., 469484 jobs/s"; "..., 0 refused, 1000 unknown
  // (they may have been created), 40 not sent; ..." where there are such.
  std::string text() const;
};

// Not thread-safe; run() is called once.
class BulkEnqueue {
 public:
  BulkEnqueue(BulkSend send, BulkOptions options);
  ~BulkEnqueue();

  // Reads `in` to its end and writes one line for each non-blank line of it to `out`, in input
  // order, as the calls are acknowledged:
  //   {"id": "...", "created": true}
  //   {"line": 7, "error": {"reason": "...", "field": "...", "message": "..."}}
  //   {"line": 8, "error": {..., "mayHaveHappened": true, "requestId": "..."}}  no answer came
  // Returns early, with everything in flight answered, when a call failed as a whole because the
  // server is away, when stop() was called, or when a line that is too long has no end.
  BulkSummary run(int in, std::FILE* out);

  // From a signal handler: no more is read, what is in flight is waited for. A second call gives
  // that up, and what is in flight is unknown. A third ends the process by `signal`.
  static void stop(int signal);

 private:
  struct Batch;
  struct Held;
  struct Mailbox;
  enum class Fate { kRefused, kUnknown, kUnsent };

  void take_line(std::string_view line, bool too_long);
  void add_refused(Error error);
  bool batch_is_full() const;
  void place_held();
  void send_batch();
  void refuse_unsent(const Error& error);
  void give_up_in_flight();
  void collect();
  void render(Batch& batch, std::FILE* out);
  void render_result(const v1::BulkEnqueueResult& result, std::int64_t line);
  void render_error(const Error& error, std::int64_t line, Fate fate = Fate::kRefused);
  void wait(bool for_input);
  Batch& open_batch();

  BulkSend send_;
  BulkOptions options_;
  std::shared_ptr<Mailbox> mailbox_;
  std::deque<std::unique_ptr<Batch>> batches_;  // sent and not yet written out, in order
  std::unique_ptr<Batch> open_;                 // being filled
  std::unique_ptr<Held> held_;                  // read, and for the batch after `open_`
  std::unique_ptr<LineReader> reader_;
  int in_ = -1;
  std::int64_t calls_ = 0;
  BulkSummary summary_;
  std::string text_;  // lines on their way out
};

}  // namespace rota::cli
