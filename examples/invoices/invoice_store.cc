// SPDX-License-Identifier: Apache-2.0
#include "invoice_store.h"

#include <sqlite3.h>

#include <chrono>

namespace invoices {
namespace {

std::int64_t wall_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

// One prepared statement, finalised at the end of its scope.
class Statement {
 public:
  Statement(sqlite3* db, const char* sql) { sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  Statement& bind(std::int64_t v) {
    sqlite3_bind_int64(statement_, ++at_, v);
    return *this;
  }
  Statement& bind(const std::string& v) {
    sqlite3_bind_text(statement_, ++at_, v.data(), static_cast<int>(v.size()), SQLITE_TRANSIENT);
    return *this;
  }
  int step() { return sqlite3_step(statement_); }
  std::int64_t integer(int column) { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int at_ = 0;
};

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS fence(name TEXT PRIMARY KEY, token INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS executions(id INTEGER PRIMARY KEY, job TEXT, attempt INTEGER,"
    " token INTEGER, worker TEXT, day TEXT, started_ms INTEGER, ended_ms INTEGER);"
    "CREATE TABLE IF NOT EXISTS refusals(id INTEGER PRIMARY KEY, kind TEXT, job TEXT,"
    " attempt INTEGER, token INTEGER, newest_token INTEGER, worker TEXT, at_ms INTEGER);";
constexpr const char* kInvoicesGuarded =
    "CREATE TABLE IF NOT EXISTS invoices(number INTEGER PRIMARY KEY, customer INTEGER, day TEXT,"
    " amount_cents INTEGER, job TEXT, attempt INTEGER, token INTEGER, worker TEXT,"
    " UNIQUE(customer, day))";
constexpr const char* kInvoicesPlain =
    "CREATE TABLE IF NOT EXISTS invoices(number INTEGER PRIMARY KEY, customer INTEGER, day TEXT,"
    " amount_cents INTEGER, job TEXT, attempt INTEGER, token INTEGER, worker TEXT)";

}  // namespace

std::unique_ptr<InvoiceStore> InvoiceStore::open(const std::string& path, bool guard,
                                                 std::string* error) {
  sqlite3* db = nullptr;
  if (sqlite3_open(path.c_str(), &db) != SQLITE_OK) {
    *error = sqlite3_errmsg(db);
    sqlite3_close(db);
    return nullptr;
  }
  sqlite3_busy_timeout(db, 10'000);
  std::unique_ptr<InvoiceStore> store(new InvoiceStore(db, guard));
  if (!store->run("PRAGMA journal_mode=WAL") || !store->run(kTables) ||
      !store->run(guard ? kInvoicesGuarded : kInvoicesPlain)) {
    *error = sqlite3_errmsg(db);
    return nullptr;
  }
  return store;
}

InvoiceStore::~InvoiceStore() { sqlite3_close(db_); }

bool InvoiceStore::run(const char* sql) {
  return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

Written InvoiceStore::write(const Invoice& invoice, const std::string& fence,
                            const Writer& writer) {
  Written written;
  if (!run("BEGIN IMMEDIATE")) {
    written.error = sqlite3_errmsg(db_);
    return written;
  }
  written = write_in_transaction(invoice, fence, writer);
  const bool keep = written.what == Written::What::kInserted;
  if (!run(keep ? "COMMIT" : "ROLLBACK")) {
    written.what = Written::What::kFailed;
    written.error = sqlite3_errmsg(db_);
  }
  if (written.what == Written::What::kStale) note_refusal("stale", writer, written.newest_token);
  if (written.what == Written::What::kFound) note_refusal("insert", writer, 0);
  return written;
}

Written InvoiceStore::write_in_transaction(const Invoice& invoice, const std::string& fence,
                                           const Writer& writer) {
  Written written;
  const auto token = static_cast<std::int64_t>(writer.token);
  if (guard_) {
    // Moves the fence forward, never back: no row changes when a newer token has been here.
    Statement move(db_,
                   "INSERT INTO fence(name, token) VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE"
                   " SET token = excluded.token WHERE token <= excluded.token");
    if (move.bind(fence).bind(token).step() != SQLITE_DONE) {
      written.error = sqlite3_errmsg(db_);
      return written;
    }
    if (sqlite3_changes(db_) == 0) {
      Statement newest(db_, "SELECT token FROM fence WHERE name = ?1");
      newest.bind(fence).step();
      written.what = Written::What::kStale;
      written.newest_token = static_cast<std::uint64_t>(newest.integer(0));
      return written;
    }
  }
  Statement insert(db_,
                   "INSERT INTO invoices(number, customer, day, amount_cents, job, attempt, token,"
                   " worker) SELECT COALESCE(MAX(number), 1000) + 1, ?1, ?2, ?3, ?4, ?5, ?6, ?7"
                   " FROM invoices");
  insert.bind(invoice.customer).bind(invoice.day).bind(invoice.amount_cents).bind(writer.job_id);
  insert.bind(writer.attempt).bind(token).bind(writer.worker);
  const int code = insert.step();
  if (code == SQLITE_DONE) {
    written.what = Written::What::kInserted;
    written.number = sqlite3_last_insert_rowid(db_);
  } else if (code == SQLITE_CONSTRAINT) {
    Statement find(db_, "SELECT number FROM invoices WHERE customer = ?1 AND day = ?2");
    find.bind(invoice.customer).bind(invoice.day).step();
    written.what = Written::What::kFound;
    written.number = find.integer(0);
  } else {
    written.error = sqlite3_errmsg(db_);
  }
  return written;
}

void InvoiceStore::note_refusal(const char* kind, const Writer& writer,
                                std::uint64_t newest_token) {
  Statement note(db_,
                 "INSERT INTO refusals(kind, job, attempt, token, newest_token, worker, at_ms)"
                 " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  note.bind(std::string(kind)).bind(writer.job_id).bind(writer.attempt);
  note.bind(static_cast<std::int64_t>(writer.token)).bind(static_cast<std::int64_t>(newest_token));
  note.bind(writer.worker).bind(wall_ms()).step();
}

std::int64_t InvoiceStore::begin_execution(const Writer& writer, const std::string& day) {
  Statement begin(db_,
                  "INSERT INTO executions(job, attempt, token, worker, day, started_ms)"
                  " VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
  begin.bind(writer.job_id).bind(writer.attempt).bind(static_cast<std::int64_t>(writer.token));
  begin.bind(writer.worker).bind(day).bind(wall_ms()).step();
  return sqlite3_last_insert_rowid(db_);
}

void InvoiceStore::end_execution(std::int64_t row) {
  Statement end(db_, "UPDATE executions SET ended_ms = ?1 WHERE id = ?2");
  end.bind(wall_ms()).bind(row).step();
}

}  // namespace invoices
