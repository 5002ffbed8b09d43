// SPDX-License-Identifier: Apache-2.0
//
// The target of the example: invoices in SQLite, guarded by what a queue cannot do for it. One
// transaction compares the fencing token and inserts under a unique constraint.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

struct sqlite3;

namespace invoices {

struct Invoice {
  int customer = 0;
  std::int64_t amount_cents = 0;
  std::string day;  // yyyy-mm-dd
};

struct Writer {  // who writes
  std::string job_id;
  int attempt = 0;
  std::uint64_t token = 0;
  std::string worker;
};

struct Written {
  enum class What { kInserted, kFound, kStale, kFailed };
  What what = What::kFailed;
  std::int64_t number = 0;         // kInserted, kFound
  std::uint64_t newest_token = 0;  // kStale: the token that has written since
  std::string error;               // kFailed
};

// One connection; used from one thread at a time. Several processes may have the file open.
class InvoiceStore {
 public:
  // guard = false leaves the unique constraint and the token check out, to show what they prevent.
  static std::unique_ptr<InvoiceStore> open(const std::string& path, bool guard,
                                            std::string* error);
  ~InvoiceStore();

  // `fence` names what the token excludes: here the queue, which runs one job at a time.
  Written write(const Invoice& invoice, const std::string& fence, const Writer& writer);

  // The trace of handler executions, for the check afterwards. Returns the row to end.
  std::int64_t begin_execution(const Writer& writer, const std::string& day);
  void end_execution(std::int64_t row);

 private:
  InvoiceStore(sqlite3* db, bool guard) : db_(db), guard_(guard) {}
  bool run(const char* sql);
  Written write_in_transaction(const Invoice& invoice, const std::string& fence,
                               const Writer& writer);
  void note_refusal(const char* kind, const Writer& writer, std::uint64_t newest_token);

  sqlite3* db_;
  const bool guard_;
};

}  // namespace invoices
