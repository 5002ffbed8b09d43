// SPDX-License-Identifier: Apache-2.0
//
// A worker that writes one invoice for each tick of a scheduler, and can be told to fail in the
// three ways that real workers do: killed between the effect and its report, suspended beyond its
// lease, slow enough for the server to be restarted under it.
#include <rota/worker.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "invoice_store.h"

namespace {

struct Options {
  std::map<std::string, std::string> values;
  std::string text(const std::string& name) const {
    auto it = values.find(name);
    return it == values.end() ? std::string() : it->second;
  }
  std::int64_t number(const std::string& name) const {
    return std::strtoll(text(name).c_str(), nullptr, 10);
  }
};

std::map<int, std::int64_t> read_customers(const std::string& path) {
  std::map<int, std::int64_t> amounts;
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);  // header
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    std::string id, name, amount;
    std::getline(fields, id, ',');
    std::getline(fields, name, ',');
    std::getline(fields, amount, ',');
    amounts[std::atoi(id.c_str())] = std::atoll(amount.c_str());
  }
  return amounts;
}

class InvoiceHandler {
 public:
  InvoiceHandler(invoices::InvoiceStore& store, std::map<int, std::int64_t> customers,
                 const Options& options)
      : store_(store), customers_(std::move(customers)), options_(options) {}

  rota::Outcome operator()(rota::Context& ctx) {
    const rota::Job& job = ctx.job();
    if (job.nominal_times.empty()) return rota::Outcome::fail_for_good("not a scheduled job");
    // A tick a second stands for a day: the n-th tick is day n, and customer n's.
    const std::int64_t first_ms = options_.number("first-tick-ms");
    const int day = static_cast<int>(
        (job.nominal_times.front().time_since_epoch().count() - first_ms) / 1000 + 1);
    const auto customer = customers_.find(day);
    if (customer == customers_.end()) return rota::Outcome::fail_for_good("no such customer");
    char date[16];
    std::snprintf(date, sizeof date, "2026-11-%02d", day);
    const invoices::Writer writer{job.id, job.attempt, job.fencing_token, options_.text("id")};

    std::int64_t row = 0;
    {
      std::lock_guard lock(mutex_);
      row = store_.begin_execution(writer, date);
    }
    work(ctx, day);
    if (day == options_.number("suspend-on-day") && job.attempt == 1) std::raise(SIGSTOP);
    invoices::Written written;
    {
      std::lock_guard lock(mutex_);
      written = store_.write({day, customer->second, date}, "queue/" + job.queue, writer);
    }
    if (day == options_.number("die-on-day") && job.attempt == 1) std::raise(SIGKILL);
    {
      std::lock_guard lock(mutex_);
      store_.end_execution(row);
    }
    using What = invoices::Written::What;
    switch (written.what) {
      case What::kInserted:
        return rota::Outcome::succeed(std::to_string(written.number));
      case What::kFound:
        return rota::Outcome::succeed(std::to_string(written.number) + " found");
      case What::kStale:
        return rota::Outcome::fail("the database has seen token " +
                                   std::to_string(written.newest_token));
      case What::kFailed:
        break;
    }
    return rota::Outcome::fail(written.error);
  }

 private:
  // Stands for real work; goes on when asked to stop, as the rude handlers in the field do.
  void work(const rota::Context&, int day) const {
    const bool slow = day == options_.number("slow-on-day");
    std::this_thread::sleep_for(std::chrono::milliseconds(slow ? 1500 : 100));
  }

  invoices::InvoiceStore& store_;
  const std::map<int, std::int64_t> customers_;
  const Options& options_;
  std::mutex mutex_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]).substr(0, 2) == "--") options.values[argv[i] + 2] = argv[i + 1];
  }
  if (options.text("db").empty() || options.text("customers").empty()) {
    std::cerr << "usage: invoice-worker --id NAME --server HOST:PORT --queue Q --db FILE"
                 " --customers FILE --guard 1|0 --first-tick-ms T [--lease-ttl-ms N]"
                 " [--die-on-day N] [--suspend-on-day N] [--slow-on-day N]\n";
    return 2;
  }
  std::string error;
  auto store =
      invoices::InvoiceStore::open(options.text("db"), options.text("guard") != "0", &error);
  if (!store) {
    std::cerr << "invoice-worker: " << error << "\n";
    return 1;
  }
  auto client = rota::Client::create({.address = options.text("server")});
  if (!client) {
    std::cerr << "invoice-worker: " << client.error().message << "\n";
    return 1;
  }
  rota::WorkerOptions worker_options;
  worker_options.queues = {options.text("queue")};
  worker_options.concurrency = 1;
  worker_options.id = options.text("id");
  if (const std::int64_t ttl_ms = options.number("lease-ttl-ms"); ttl_ms > 0) {
    worker_options.lease_ttl = rota::Millis(ttl_ms);
  }
  worker_options.drain = rota::Millis(2'000);
  InvoiceHandler handler(*store, read_customers(options.text("customers")), options);
  rota::Worker worker(*client, worker_options);
  worker.handle("daily-invoice", [&](rota::Context& ctx) { return handler(ctx); });
  auto ended = worker.run();
  if (!ended) {
    std::cerr << "invoice-worker: " << ended.error().message << "\n";
    return 1;
  }
  return 0;
}
