// SPDX-License-Identifier: Apache-2.0
#include "tidy/layers.h"

#include <gtest/gtest.h>

namespace rota::tidy {
namespace {

TEST(Layers, IncludesRunOneWay) {
  const auto tree = read_tree(ROTA_SOURCE_DIR);
  ASSERT_GT(tree.size(), 100u);
  const auto findings = check_layers(tree);
  EXPECT_TRUE(findings.empty()) << to_string(findings);
}

// The check itself: each of these must be found, with its line.
void expect_finding(const std::string& path, const std::string& include, const std::string& text) {
  const auto findings = check_layers({file(path, "// a file\n\n#include " + include + "\n"),
                                      file("worker/include/rota/worker.h", ""),
                                      file("client/include/rota/client.h", "")});
  ASSERT_EQ(findings.size(), 1u) << path << " " << include << "\n" << to_string(findings);
  EXPECT_EQ(findings[0].path, path);
  EXPECT_EQ(findings[0].line, 3u);
  EXPECT_NE(findings[0].text.find(text), std::string::npos) << findings[0].text;
}

TEST(Layers, FindsALayerToTheRight) {
  expect_finding("server/base/a.h", "\"model/job.h\"", "layer model");
  expect_finding("server/core/a.h", "\"store/rocks_store.h\"", "layer store");
  expect_finding("server/store/a.cc", "\"runtime/engine_loop.h\"", "layer runtime");
  expect_finding("server/runtime/a.cc", "\"rpc/job_service.h\"", "layer rpc");
  expect_finding("server/rpc/a.cc", "\"app/config.h\"", "layer app");
  expect_finding("server/app/a.cc", "<rota/client.h>", "layer client");
  expect_finding("client/src/a.cc", "\"core/engine.h\"", "layer core");
  expect_finding("client/src/a.cc", "<rota/worker.h>", "layer worker");
  expect_finding("tools/rota/a.cc", "\"runtime/engine_loop.h\"", "layer runtime");
  expect_finding("examples/hello/a.cc", "\"base/error.h\"", "layer base");
}

TEST(Layers, FindsALibraryOfAnotherLayer) {
  expect_finding("server/runtime/a.cc", "<grpcpp/grpcpp.h>", "gRPC");
  expect_finding("server/runtime/a.cc", "<rocksdb/db.h>", "RocksDB");
  expect_finding("server/core/a.cc", "<fmt/format.h>", "fmt");
  expect_finding("server/store/a.cc", "<google/protobuf/message.h>", "protobuf");
  expect_finding("server/rpc/a.cc", "<spdlog/spdlog.h>", "spdlog");
  expect_finding("server/runtime/a.cc", "\"rota/v1/job.pb.h\"", "generated code");
  expect_finding("tools/rota/a.cc", "\"rota/v1/job_service.grpc.pb.h\"", "generated code");
  expect_finding("worker/src/a.cc", "\"rota/v1/job.pb.h\"", "generated code");
}

TEST(Layers, FindsImpureHeadersInThePureLayers) {
  for (const char* header :
       {"<thread>", "<mutex>", "<chrono>", "<random>", "<fstream>", "<iostream>", "<sys/socket.h>",
        "<unistd.h>", "\"base/clock.h\"", "\"base/log.h\""}) {
    expect_finding("server/core/a.cc", header, "pure");
    expect_finding("server/model/a.h", header, "pure");
  }
}

TEST(Layers, FindsForeignTypesInPublicHeaders) {
  expect_finding("client/include/rota/a.h", "<absl/time/time.h>", "public header");
  expect_finding("client/include/rota/a.h", "\"base/error.h\"", "public header");
  expect_finding("worker/include/rota/a.h", "\"internal/a.h\"", "public header");
}

TEST(Layers, FindsAFolderThatIsNoLayer) {
  const auto findings = check_layers({file("server/common/a.h", "")});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].text.find("no layer"), std::string::npos);
}

TEST(Layers, LetsPassWhatIsAllowed) {
  const auto findings = check_layers({
      file("server/core/a.cc",
           "#include \"core/a.h\"\n#include <vector>\n#include \"base/error.h\""),
      file("server/rpc/a.cc", "#include <grpcpp/grpcpp.h>\n#include \"rota/v1/job.pb.h\"\n"),
      file("server/store/a.cc", "  #  include <rocksdb/db.h>\n// #include \"rpc/a.h\"\n"),
      file("client/include/rota/client.h", "#include <string>\n#include <rota/error.h>\n"),
      file("client/internal/a.h", "#include \"internal/b.h\"\n#include <grpcpp/grpcpp.h>\n"),
      file("worker/src/a.cc", "#include <rota/client.h>\n#include \"internal/a.h\"\n"),
      file("tests/unit/a_test.cc", "#include \"core/a.h\"\n#include <thread>\n"),
  });
  EXPECT_TRUE(findings.empty()) << to_string(findings);
}

}  // namespace
}  // namespace rota::tidy
