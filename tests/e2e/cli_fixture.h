// SPDX-License-Identifier: Apache-2.0
//
// Commands of this build, run in a shell against a real server.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/live_server.h"

namespace rota::e2e {

using nlohmann::json;

struct Said {
  int code = -1;
  std::string out, err;

  std::vector<json> lines() const {
    std::vector<json> all;
    std::istringstream text(out);
    for (std::string line; std::getline(text, line);) all.push_back(json::parse(line));
    return all;
  }
};

class CliTest : public LiveServerTest {
 protected:
  // Runs `rota ARGUMENTS` in a shell; `input` becomes its standard input.
  Said rota(const std::string& arguments, const std::string& input = "") {
    const std::string in = folder_.file("input");
    std::ofstream(in) << input;
    return shell("rota " + arguments + " <'" + in + "'");
  }
  // A command line with this build's programs on the PATH, for the server of this test.
  Said shell(const std::string& text) {
    const std::string err = folder_.file("errors"), script = folder_.file("script");
    std::ofstream(script) << "export ROTA_ADDRESS=" << server_.address()
                          << "\nexport PATH='" ROTA_BINARIES "':\"$PATH\"\n"
                          << text << "\n";
    const std::string command = "sh '" + script + "' 2>'" + err + "'";
    Said said;
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return said;
    std::array<char, 65536> piece{};
    while (const std::size_t got = std::fread(piece.data(), 1, piece.size(), pipe)) {
      said.out.append(piece.data(), got);
    }
    const int status = pclose(pipe);
    said.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    said.err = driver::read_file(err);
    return said;
  }
  json rota_json(const std::string& arguments) {
    const Said said = rota(arguments + " -o json");
    EXPECT_EQ(said.code, 0) << arguments << ": " << said.err;
    return said.code == 0 ? json::parse(said.out) : json();
  }
};

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace rota::e2e
