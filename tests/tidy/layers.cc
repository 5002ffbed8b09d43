// SPDX-License-Identifier: Apache-2.0
#include "tidy/layers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace rota::tidy {
namespace {

using Names = std::set<std::string, std::less<>>;

// Layer -> layers whose headers it may include, besides its own.
const std::map<std::string, Names, std::less<>>& allowed_layers() {
  static const std::map<std::string, Names, std::less<>> table = {
      {"base", {}},
      {"model", {"base"}},
      {"core", {"base", "model"}},
      {"store", {"base", "model", "core"}},
      {"runtime", {"base", "model", "core", "store"}},
      {"rpc", {"base", "model", "core", "store", "runtime"}},
      {"app", {"base", "model", "core", "store", "runtime", "rpc"}},
      {"client", {"base"}},
      {"worker", {"base", "client"}},
      {"tools", {"base", "client", "worker"}},
      {"examples", {"client", "worker"}},
  };
  return table;
}

struct Library {
  std::string_view name;
  std::vector<std::string_view> prefixes;  // of the included path
  Names layers;                            // that may include it
};

const std::vector<Library>& libraries() {
  static const std::vector<Library> table = {
      {"gRPC", {"grpc/", "grpcpp/", "grpc++/"}, {"rpc", "app", "client"}},
      {"protobuf", {"google/protobuf/"}, {"rpc", "client", "tools"}},
      {"RocksDB", {"rocksdb/"}, {"store"}},
      {"spdlog", {"spdlog/"}, {"base"}},
      {"OpenSSL", {"openssl/"}, {"base"}},
      {"fmt", {"fmt/"}, {"base", "store", "runtime", "rpc", "app", "client", "worker", "tools"}},
      {"CLI11", {"CLI/"}, {"app", "worker", "tools"}},
      {"toml++", {"toml++/"}, {"app", "tools"}},
      {"nlohmann", {"nlohmann/"}, {"rpc", "app", "client", "worker", "tools", "examples"}},
      {"SQLite", {"sqlite3.h"}, {"examples", "tools"}},
      {"Abseil",
       {"absl/"},
       {"core", "store", "runtime", "rpc", "app", "client", "worker", "tools"}},
  };
  return table;
}

// Headers through which a pure layer would see time, threads, chance, files or the environment.
const Names& impure_headers() {
  static const Names names = {
      "atomic",
      "chrono",
      "condition_variable",
      "ctime",
      "filesystem",
      "fstream",
      "future",
      "iostream",
      "mutex",
      "random",
      "semaphore",
      "shared_mutex",
      "stop_token",
      "thread",
      "fcntl.h",
      "pthread.h",
      "time.h",
      "unistd.h",
      "syslog.h",
      "base/clock.h",
      "base/log.h",
      "base/fail_point.h",
      "base/options.h",
      "absl/time/clock.h",
  };
  return names;
}

bool is_pure(std::string_view layer) { return layer == "core" || layer == "model"; }

// "server/core/x.h" -> "core"; empty for a file that belongs to no layer.
std::string layer_of_file(std::string_view path) {
  for (std::string_view top : {"client/", "worker/", "tools/", "examples/"}) {
    if (path.starts_with(top)) return std::string(top.substr(0, top.size() - 1));
  }
  if (!path.starts_with("server/")) return {};
  path.remove_prefix(std::string_view("server/").size());
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string{} : std::string(path.substr(0, slash));
}

// The path of an #include line; nothing for another line.
std::optional<std::string> included_path(std::string_view line) {
  const std::size_t hash = line.find_first_not_of(" \t");
  if (hash == std::string_view::npos || line[hash] != '#') return std::nullopt;
  const std::size_t word = line.find_first_not_of(" \t", hash + 1);
  if (word == std::string_view::npos || !line.substr(word).starts_with("include")) {
    return std::nullopt;
  }
  const std::size_t open = line.find_first_of("\"<", word);
  if (open == std::string_view::npos) return std::nullopt;
  const std::size_t close = line.find(line[open] == '<' ? '>' : '"', open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return std::string(line.substr(open + 1, close - open - 1));
}

class Checker {
 public:
  explicit Checker(const std::vector<SourceFile>& tree) : tree_(tree) {
    for (const SourceFile& source : tree) paths_.insert(source.path);
  }

  std::vector<Finding> run() {
    for (const SourceFile& source : tree_) {
      const bool is_code =
          source.has_extension(".h") || source.has_extension(".cc") || source.has_extension(".inc");
      const std::string layer = layer_of_file(source.path);
      if (!is_code || layer.empty()) continue;
      if (!allowed_layers().contains(layer)) {
        findings_.push_back({source.path, 0, "folder '" + layer + "' is no layer"});
        continue;
      }
      for (std::size_t i = 0; i < source.lines.size(); ++i) {
        if (const auto included = included_path(source.lines[i])) {
          check(source, layer, i + 1, *included);
        }
      }
    }
    return std::move(findings_);
  }

 private:
  void check(const SourceFile& source, const std::string& layer, std::size_t line,
             const std::string& included) {
    const auto refuse = [&](const std::string& why) {
      findings_.push_back({source.path, line, layer + " may not include " + included + why});
    };
    if (is_pure(layer) && (impure_headers().contains(included) || included.starts_with("sys/"))) {
      refuse(": it is pure, and that header is not");
      return;
    }
    if (included.ends_with(".pb.h")) {
      const bool with_grpc = included.ends_with(".grpc.pb.h");
      const Names users =
          with_grpc ? Names{"rpc", "app", "client"} : Names{"rpc", "client", "tools"};
      if (!users.contains(layer)) refuse(": generated code belongs to rpc, client and tools");
      return;
    }
    for (const Library& library : libraries()) {
      for (std::string_view prefix : library.prefixes) {
        if (included.starts_with(prefix) && !library.layers.contains(layer)) {
          refuse(": " + std::string(library.name) + " is not a library of this layer");
        }
      }
    }
    check_public_header(source, line, included);
    const std::string target = layer_of_include(source.path, included);
    if (target.empty() || target == layer) return;
    if (!allowed_layers().at(layer).contains(target)) refuse(": layer " + target);
  }

  // Public headers hold standard types only.
  void check_public_header(const SourceFile& source, std::size_t line,
                           const std::string& included) {
    const bool is_public = source.path.find("/include/rota/") != std::string::npos;
    const bool standard = included.find('/') == std::string::npos && !included.ends_with(".h");
    if (is_public && !standard && !included.starts_with("rota/")) {
      findings_.push_back(
          {source.path, line,
           "a public header may include only standard and rota/ headers, not " + included});
    }
  }

  // The layer that owns this header; empty for one that is none of the project's.
  std::string layer_of_include(const std::string& from, const std::string& included) const {
    for (const char* root : {"client/include/", "worker/include/"}) {
      if (paths_.contains(root + included)) return layer_of_file(root);
    }
    if (included.starts_with("internal/") || included.starts_with("src/")) {
      const std::string own = from.substr(0, from.find('/') + 1);
      return paths_.contains(own + included) ? layer_of_file(own) : "client";
    }
    const std::string layer = layer_of_file("server/" + included);
    const bool server_layer = allowed_layers().contains(layer) && layer != "client" &&
                              layer != "worker" && layer != "tools" && layer != "examples";
    return server_layer ? layer : std::string{};
  }

  const std::vector<SourceFile>& tree_;
  Names paths_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_layers(const std::vector<SourceFile>& tree) {
  return Checker(tree).run();
}

}  // namespace rota::tidy
