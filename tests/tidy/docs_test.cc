// SPDX-License-Identifier: Apache-2.0
//
// docs/CONFIGURATION.md and docs/ERRORS.md are the tables of server/base in another form. This test
// holds them equal; with ROTA_UPDATE_DOCS=1 it writes them anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/options.h"

namespace rota::tidy {
namespace {

using base::OptionInfo;
using base::OptionType;
using base::StatusCode;

std::string status_name(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kAborted:
      return "ABORTED";
    case StatusCode::kInternal:
      return "INTERNAL";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
  }
  return "";
}

std::string errors_page() {
  std::string text =
      "# Errors\n\n"
      "Every refused call carries one `google.rpc.ErrorInfo` with a reason of this table, domain "
      "`rota`. Programs act on the reason, never on the message. \"Retry\" means that the same "
      "request may succeed later; repeat a creating call with the same `request_id`.\n\n"
      "Made from `server/base/error_reasons.inc` by `tests/tidy/docs_test.cc`.\n\n"
      "| reason | gRPC status | retry | meaning |\n| --- | --- | --- | --- |\n";
  for (const base::ReasonInfo& info : base::reason_table()) {
    text += "| `" + std::string(info.name) + "` | " + status_name(info.code) + " | " +
            (info.retryable ? "yes" : "no") + " | " + std::string(info.sentence) + " |\n";
  }
  return text;
}

std::string bounds(const OptionInfo& info) {
  // Through the option itself, so that the page and the program write a value alike.
  const auto shown = [&info](std::int64_t number) {
    base::ServerOptions options;
    const std::string text =
        std::to_string(number) + (info.type == OptionType::kDuration ? "ms" : "");
    const auto set = set_option(options, info, text);
    EXPECT_TRUE(set) << info.key;
    return option_text(options, info);
  };
  switch (info.type) {
    case OptionType::kText:
      return "";
    case OptionType::kFlag:
      return "true, false";
    case OptionType::kChoice: {
      std::string text(info.choices);
      for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|')) {
        text.replace(at, 1, ", ");
      }
      return text;
    }
    default:
      return shown(info.least) + " to " + shown(info.most);
  }
}

std::string configuration_page() {
  std::string text =
      "# Configuration of rota-server\n\n"
      "Each option is a flag, an environment variable and a key of the TOML file named by "
      "`--config` or `ROTA_CONFIG`. A flag wins over the environment, the environment over the "
      "file, the file over the default. An unknown flag or key is an error. `rota-server "
      "--print-config` prints every value with its origin, as a file that can be read back. All "
      "options take effect at the next start; none switches the sync of a write off.\n\n"
      "Sizes: `4096`, `256KiB`, `64MiB`, `1GiB`. Durations: `250ms`, `30s`, `5m`, `1h30m`; the "
      "unit "
      "is required.\n\n"
      "Made from `server/base/options.inc` by `tests/tidy/docs_test.cc`.\n\n"
      "| key | flag | environment | default | values | meaning |\n"
      "| --- | --- | --- | --- | --- | --- |\n";
  const base::ServerOptions standard;
  for (const OptionInfo& info : base::option_table()) {
    const std::string value = option_text(standard, info);
    text += "| `" + std::string(info.key) + "` | `" + info.flag() + "` | `" + info.environment() +
            "` | " + (value.empty() ? "" : "`" + value + "`") + " | " + bounds(info) + " | " +
            std::string(info.sentence) + " |\n";
  }
  return text;
}

void expect_page(const std::string& name, const std::string& text) {
  const std::string path = std::string(ROTA_SOURCE_DIR) + "/docs/" + name;
  if (std::getenv("ROTA_UPDATE_DOCS") != nullptr) std::ofstream(path) << text;
  std::ifstream in(path);
  std::stringstream written;
  written << in.rdbuf();
  EXPECT_EQ(written.str(), text) << name << " is out of date; ROTA_UPDATE_DOCS=1 rewrites it";
}

TEST(Docs, ConfigurationPageEqualsTheTable) {
  expect_page("CONFIGURATION.md", configuration_page());
}

TEST(Docs, ErrorPageEqualsTheTable) { expect_page("ERRORS.md", errors_page()); }

}  // namespace
}  // namespace rota::tidy
