// SPDX-License-Identifier: Apache-2.0
// `rota server`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/names.h"
#include "rota/command_line.h"

namespace rota::cli {
namespace {

using internal::RawClient;

void add_line(std::string* out, std::string_view name, const std::string& value) {
  *out += fmt::format("{:<16} {}\n", name, value);
}

std::string pressure_text(v1::ServerInfo::Pressure pressure) {
  switch (pressure) {
    case v1::ServerInfo::PRESSURE_OK:
      return "ok";
    case v1::ServerInfo::PRESSURE_SLOW:
      return "writes are slowed down";
    case v1::ServerInfo::PRESSURE_REFUSE_NEW:
      return "new work is refused";
    case v1::ServerInfo::PRESSURE_READ_ONLY:
      return "nothing is accepted";
    default:
      return "not known";
  }
}

std::string clock_text(v1::ServerInfo::ClockState state) {
  switch (state) {
    case v1::ServerInfo::CLOCK_STATE_OK:
      return "ok";
    case v1::ServerInfo::CLOCK_STATE_BEHIND:
      return "behind the last stored time";
    case v1::ServerInfo::CLOCK_STATE_STEPPED_AHEAD:
      return "stepped ahead; deletion by age waits";
    default:
      return "not known";
  }
}

std::string info_text(const v1::ServerInfo& info, const std::string& address, const View& view) {
  std::string out;
  add_line(&out, "server", fmt::format("rota-server {} at {}", info.version(), address));
  add_line(&out, "listens on",
           fmt::format("{}{}", fmt::join(info.listen_addresses(), ", "),
                       info.plaintext_private() ? " (plain text on a private network)" : ""));
  add_line(&out, "up",
           fmt::format("{}, since {}{}", span_text(to_ms(info.uptime())),
                       time_text(info.start_time()), info.draining() ? "; draining" : ""));
  add_line(&out, "data",
           fmt::format("{} in {}, format {}, store {}", info.store_kind(), info.data_dir(),
                       info.format_version(), info.store_id()));
  add_line(&out, "store", pressure_text(info.pressure()));
  const auto& last = info.last_commit_duration();
  add_line(&out, "commits",
           fmt::format(
               "{} since the start, the last took {:.2f} ms, newest {}", info.commit_count(),
               static_cast<double>(last.seconds()) * 1e3 + last.nanos() / 1e6, info.commit_seq()));
  add_line(&out, "largest scan", count_of(info.largest_scan_rows(), "row"));
  add_line(&out, "queues", std::to_string(info.queue_count()));
  add_line(&out, "schedulers", std::to_string(info.scheduler_count()));
  add_line(&out, "leases", std::to_string(info.lease_count()));
  add_line(&out, "workers",
           fmt::format("{}, {} waiting", info.worker_count(),
                       count_of(info.parked_poll_count(), "lease call")));
  if (info.unread_reply_bytes() > 0) {
    add_line(&out, "unread answers", base::format_bytes(info.unread_reply_bytes()));
  }
  add_line(&out, "clock", clock_text(info.clock_state()));
  add_line(&out, "zone data", info.zone_data_version());
  add_line(&out, "epoch",
           fmt::format("{}, protocol {} to {}", info.server_epoch(), info.min_protocol(),
                       info.protocol()));
  for (const std::string& warning : info.warnings()) {
    add_line(&out, "warning", paint(view, Paint::kBad, printable(warning, 400)));
  }
  return out;
}

Action define_info(CLI::App&, Context& context) {
  return [&context]() -> int {
    auto answer = call(context, v1::GetServerInfoRequest(), &RawClient::get_server_info);
    if (!answer) return context.fail(answer.error());
    auto client = context.client();
    context.out.show(*answer, answer->server().store_id(), [&] {
      return info_text(answer->server(), (*client)->address(), context.out.view);
    });
    return kExitOk;
  };
}

Action define_health(CLI::App&, Context& context) {
  return [&context]() -> int {
    auto client = context.client();
    if (!client) return context.fail(client.error());
    auto status = (*client)->health("", context.timeout_or(Millis(10'000)));
    if (!status) return context.fail(status.error());
    Output& out = context.out;
    out.write(out.is_json() ? fmt::format("{{\"status\": {}}}\n", json_string(*status))
                            : *status + "\n");
    return *status == "SERVING" ? kExitOk : kExitUnavailable;
  };
}

constexpr Verb kVerbs[] = {
    {"info", "Show what the server is and how it fares",
     "  rota server info\n"
     "  rota server info -o json --server 10.0.0.5:7500\n",
     define_info},
    {"health", "Exit code 0 if the server serves, else 6",
     "  rota server health --wait-for-server 30s\n", define_health},
};

}  // namespace

std::span<const Verb> server_verbs() { return kVerbs; }

}  // namespace rota::cli
