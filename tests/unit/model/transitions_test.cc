// SPDX-License-Identifier: Apache-2.0
//
// The state diagram: the table in docs/ARCHITECTURE.md is the one in the code.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "model/job.h"

namespace rota::model {
namespace {

constexpr JobState kStates[] = {JobState::kUnknown, JobState::kScheduled, JobState::kBlocked,
                                JobState::kReady,   JobState::kRunning,   JobState::kSucceeded,
                                JobState::kDead,    JobState::kCancelled, JobState::kExpired};

using Table = std::map<std::string, std::set<std::string>>;

Table of_the_code() {
  Table table;
  for (const JobState from : kStates) {
    for (const JobState to : kStates) {
      if (!transition_allowed(from, to)) continue;
      const std::string a = from == JobState::kUnknown ? "(enqueue)" : std::string(name_of(from));
      table[a].insert(to == JobState::kUnknown ? "(removed)" : std::string(name_of(to)));
    }
  }
  return table;
}

Table of_the_docs() {
  std::ifstream in(std::string(ROTA_SOURCE_DIR) + "/docs/ARCHITECTURE.md");
  EXPECT_TRUE(in.good());
  Table table;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string from;
    std::string arrow;
    words >> from >> arrow;
    if (arrow != "->") continue;
    for (std::string to; words >> to;) table[from].insert(to);
  }
  return table;
}

TEST(Transitions, DocumentedTableIsTheOneInTheCode) { EXPECT_EQ(of_the_docs(), of_the_code()); }

TEST(Transitions, FinalStatesAreLeftByRedriveAndRemovalOnly) {
  for (const JobState from : kStates) {
    if (!is_final(from)) continue;
    for (const JobState to : kStates) {
      const bool redrive = from == JobState::kDead && to == JobState::kReady;
      EXPECT_EQ(transition_allowed(from, to), redrive || to == JobState::kUnknown)
          << name_of(from) << " -> " << name_of(to);
    }
  }
}

TEST(Transitions, OnlyAReadyJobStarts) {
  for (const JobState from : kStates) {
    EXPECT_EQ(transition_allowed(from, JobState::kRunning), from == JobState::kReady);
  }
}

TEST(Transitions, StatesHaveNames) {
  std::set<std::string_view> names;
  for (const JobState s : kStates) names.insert(name_of(s));
  EXPECT_EQ(names.size(), 9U);
}

}  // namespace
}  // namespace rota::model
