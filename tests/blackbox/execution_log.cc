// SPDX-License-Identifier: Apache-2.0
#include "blackbox/execution_log.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace rota::blackbox {

bool read_execution_log(const std::string& text, const std::string& worker, Ns died,
                        History* history, std::string* why) {
  std::map<std::int64_t, Execution*> running;
  const std::size_t end = text.rfind('\n');
  std::istringstream lines(end == std::string::npos ? std::string() : text.substr(0, end));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    char what = 0;
    Ns at = 0;
    std::int64_t token = 0;
    words >> what >> at >> token;
    if (what == 'B') {
      Execution& one = history->executions.emplace_back();
      one.worker = worker;
      one.began = at;
      one.token = token;
      words >> one.job >> one.attempt;
      running[token] = &one;
    } else if (what == 'P') {
      history->standstills.push_back({.worker = worker, .from = at, .to = token});
    } else if (what == 'S' || what == 'E') {
      const auto own = running.find(token);
      // A handler that has returned may still be told, by a thread that was late.
      if (own != running.end() && what == 'S') own->second->told = at;
      if (own != running.end() && what == 'E') {
        own->second->ended = at;
        own->second->returned = true;
        words >> own->second->result;
        if (own->second->result == "-") own->second->result.clear();
      }
      if (own == running.end()) words.setstate(std::ios::failbit);
    } else {
      words.setstate(std::ios::failbit);
    }
    if (words.fail()) {
      *why = "the log of " + worker + " has a line that says nothing: " + line;
      return false;
    }
  }
  for (auto& [token, one] : running) {
    if (!one->returned) one->ended = std::max(one->began, died);
  }
  return true;
}

}  // namespace rota::blackbox
