// SPDX-License-Identifier: Apache-2.0
//
// What the README and docker-compose.yml tell people to run, run as it is written there.
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>

#include "e2e/cli_fixture.h"

namespace rota::e2e {
namespace {

using Words = std::vector<std::string>;

std::string readme() { return driver::read_file(ROTA_SOURCE "/README.md"); }

// The text from a heading to the next of its level.
std::string section(const std::string& text, const std::string& heading) {
  const std::size_t begin = text.find("\n## " + heading + "\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin + 1, text.find("\n## ", begin + 1) - begin - 1);
}

// The lines of the fenced blocks without a language, which are commands.
Words commands(const std::string& text) {
  Words lines;
  bool inside = false, wanted = false;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      wanted = !inside && line == "```";
      inside = !inside;
    } else if (inside && wanted) {
      lines.push_back(line.substr(0, line.find("  #")));
    }
  }
  return lines;
}

std::string quoted(const Words& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "'" : " '") + word + "'";
  return line;
}

class DocumentedCommands : public CliTest {};

TEST_F(DocumentedCommands, TheFirstJobOfTheReadme) {
  const std::string text = section(readme(), "A first job");
  ASSERT_FALSE(text.empty());
  ASSERT_TRUE(contains(text, "`rota queue set hello`"));
  start();
  Said said = shell("rota queue set hello");
  ASSERT_EQ(said.code, 0) << said.err;

  // The worker runs beside the admin's commands, which are run one after the other.
  std::string script = "set -e\ncd '" + folder_.file("") + "'\n";
  std::string worker;
  int servers = 0, jobs = 0;
  std::string admin;
  for (std::string line : commands(text)) {
    if (line.starts_with("rota-worker ")) {
      worker = line;
    } else if (line.starts_with("rota-server ")) {
      ++servers;  // one is here already, on another port: what it would run with
      admin += line + " --print-config >/dev/null\n";
    } else if (line.starts_with("rota job enqueue ")) {
      ++jobs;
      admin += "ID=$(" + line + " -o name)\n";
    } else {
      ASSERT_TRUE(line.starts_with("rota ")) << line;
      const std::size_t id = line.find(" ID");
      if (id != std::string::npos) line.replace(id, 3, " \"$ID\"");
      admin += line + " >&2\n";
    }
  }
  ASSERT_FALSE(worker.empty());
  EXPECT_EQ(servers, 1);
  EXPECT_EQ(jobs, 1);
  // No worker yet, so that explain has something to say.
  script += admin + worker + " &\ntrap 'kill $! && wait $!' EXIT\nrota job wait \"$ID\" -o json\n";
  said = shell(script);
  ASSERT_EQ(said.code, 0) << said.err << driver::read_file(folder_.file("script"));
  const json job = json::parse(said.out)["job"];
  EXPECT_EQ(job["state"], "JOB_STATE_SUCCEEDED");
  EXPECT_EQ(job["queue"], "hello");
  const json scheduler = rota_json("scheduler get daily")["scheduler"];
  EXPECT_EQ(scheduler["declaration"]["spec"]["timeZone"], "Europe/Helsinki");
}

TEST_F(DocumentedCommands, TheScriptsThatTheReadmeOpensWithExist) {
  const std::string text = readme();
  const Words lines = commands(text.substr(0, text.find("\n## ")));
  EXPECT_EQ(lines.size(), 2U);
  for (const std::string& line : lines) {
    const std::string path = ROTA_SOURCE "/" + line.substr(0, line.find(' '));
    EXPECT_EQ(access(path.c_str(), X_OK), 0) << path;
  }
}

TEST_F(DocumentedCommands, OfflineChecksSayTheirResultOnStandardOutput) {
  const std::string text = section(readme(), "Running it");
  ASSERT_TRUE(contains(text, "`rota-server --check DIR`"));
  ASSERT_TRUE(contains(text, "`rota-server --check-disk DIR`"));
  start();
  make_queue("work");
  enqueue("one");
  const std::string data = "'" + folder_.file("data") + "'";
  // A directory in use, one that is not there, and one with other things in it: errors.
  for (const std::string& bad :
       {data, "'" + folder_.file("nowhere") + "'", "'" + folder_.file("") + "'"}) {
    const Said refused = shell("rota-server --check " + bad);
    EXPECT_NE(refused.code, 0) << bad;
    EXPECT_EQ(refused.out, "") << bad;
    EXPECT_TRUE(contains(refused.err, "rota-server: ")) << refused.err;
  }
  EXPECT_EQ(server_.stop(kPatienceMs), 0);
  Said said = shell("rota-server --check " + data);
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(contains(said.out, "commit ")) << said.out;
  EXPECT_EQ(said.err, "");

  said = shell("rota-server --check-disk " + data);
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(contains(said.out, "jobs/s")) << said.out;
  EXPECT_EQ(said.err, "");
  said = shell("rota-server --check-disk '" + folder_.file("nowhere") + "'");
  EXPECT_NE(said.code, 0);
  EXPECT_EQ(said.out, "");
  EXPECT_TRUE(contains(said.err, "nowhere")) << said.err;
}

TEST_F(DocumentedCommands, TheContainersRunWhatTheComposeFileSays) {
  const YAML::Node services = YAML::LoadFile(ROTA_SOURCE "/docker-compose.yml")["services"];
  // The worker may come up before the server: it waits instead of ending.
  start();
  server_.kill();
  setenv("ROTA_ADDRESS", server_.address().c_str(), 1);
  Words words = services["worker"]["command"].as<Words>();
  ASSERT_EQ(words.at(0), "rota-worker");
  words[0] = worker_binary();
  auto worker = driver::Process::start(words, folder_.file("worker.log"), true);
  unsetenv("ROTA_ADDRESS");
  ASSERT_TRUE(worker);
  start();
  Said said = shell(quoted(services["queues"]["command"].as<Words>()));
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_TRUE(contains(said.out, "demo")) << said.out;
  Words health = services["server"]["healthcheck"]["test"].as<Words>();
  ASSERT_EQ(health.at(0), "CMD");
  health.erase(health.begin());
  EXPECT_EQ(shell(quoted(health)).code, 0);

  // The command that the file's comment names, without the container around it.
  const std::string compose = driver::read_file(ROTA_SOURCE "/docker-compose.yml");
  const std::string exec = "docker compose exec server ";
  const std::size_t at = compose.find(exec);
  ASSERT_NE(at, std::string::npos);
  const std::string line =
      compose.substr(at + exec.size(), compose.find('\n', at) - at - exec.size());
  said = shell(line + " -o name");
  ASSERT_EQ(said.code, 0) << said.err;
  said = rota("job wait " + said.out.substr(0, said.out.size() - 1) + " --at-most 60s");
  EXPECT_EQ(said.code, 0) << said.err << driver::read_file(folder_.file("worker.log"));
  worker->signal(SIGTERM);
  const auto ended = worker->wait(kPatienceMs);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 0) << driver::read_file(folder_.file("worker.log"));
}

}  // namespace
}  // namespace rota::e2e
