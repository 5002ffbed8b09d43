// SPDX-License-Identifier: Apache-2.0
//
// The program behind tools/quickstart: runs the main job and says what it showed. Exit code 0:
// every promise holds; 1: one does not; 2: it could not be run.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "driver/process.h"
#include "driver/quickstart_check.h"
#include "driver/quickstart_story.h"

namespace {

bool port_is_free(const std::string& bin, const std::string& folder, const std::string& listen) {
  // The server itself is the judge: it refuses an address that is in use.
  rota::driver::ServerProcess probe(bin + "/rota-server", folder + "/probe", folder + "/probe.log",
                                    listen);
  const bool free = probe.start(true);
  if (free) probe.stop(5'000);
  std::error_code ignored;
  std::filesystem::remove_all(folder + "/probe", ignored);
  std::filesystem::remove(folder + "/probe.log", ignored);
  return free;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace rota::driver;
  if (argc == 5 && std::string_view(argv[1]) == "declare") {
    return declare_node(argv[2], std::atoll(argv[3]), std::atoll(argv[4]));
  }
  StoryOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--without-guard") {
      options.guard = false;
    } else if (arg == "--keep") {
      options.keep = true;
    } else if (i + 1 < argc && arg == "--bin") {
      options.bin = argv[++i];
    } else if (i + 1 < argc && arg == "--folder") {
      options.folder = argv[++i];
    } else if (i + 1 < argc && arg == "--customers") {
      options.customers = argv[++i];
    } else {
      fmt::print(stderr, "rota-quickstart: unknown argument {}\n", arg);
      return 2;
    }
  }
  options.self = std::filesystem::canonical("/proc/self/exe");
  std::filesystem::create_directories(options.folder);
  if (!port_is_free(options.bin, options.folder, options.listen)) options.listen = "127.0.0.1:0";

  Story story;
  std::string error;
  fmt::print(
      "[3/5] start     rota-server, data {}/data, every acknowledged write synced\n"
      "                workers w1 w2 w3; queue \"{}\": at most 1 job at once, lease 5 s\n",
      options.folder, kQueue);
  std::fflush(stdout);
  if (!run_story(options, &story, &error)) {
    fmt::print(stderr, "quickstart: {}\nlogs are in {}\n", error, options.folder);
    return 2;
  }
  fmt::print(
      "                server at {}\n                three nodes declare scheduler \"{}\" at once: "
      "{}, {}, {}\n",
      story.address, kScheduler, story.declared[0], story.declared[1], story.declared[2]);
  fmt::print(
      "[4/5] run       one tick a second stands for a day; {} days, {} customers; \"<<\" is a "
      "fault made "
      "on purpose\n",
      kDays, kDays);
  const bool holds = print_and_check(options, story);
  fmt::print("{}  {:.0f} s to run.\n", holds ? "OK, exit 0." : "FAILED, exit 1.",
             static_cast<double>(story.took_ms) / 1000);
  for (const std::string& left : story.left_running) fmt::print("left running: {}\n", left);
  return holds ? 0 : 1;
}
