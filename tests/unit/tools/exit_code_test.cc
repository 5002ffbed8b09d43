// SPDX-License-Identifier: Apache-2.0
#include "rota/exit_code.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace rota::cli {
namespace {

int code_for(Code code) {
  Error error;
  error.code = code;
  return exit_code(error);
}

TEST(ExitCode, FollowsTheClassOfTheError) {
  EXPECT_EQ(code_for(Code::kInvalid), 2);
  EXPECT_EQ(code_for(Code::kNotFound), 3);
  EXPECT_EQ(code_for(Code::kConflict), 4);
  EXPECT_EQ(code_for(Code::kPrecondition), 4);
  EXPECT_EQ(code_for(Code::kDenied), 5);
  EXPECT_EQ(code_for(Code::kExhausted), 6);
  EXPECT_EQ(code_for(Code::kUnavailable), 6);
  EXPECT_EQ(code_for(Code::kTimeout), 6);
  EXPECT_EQ(code_for(Code::kInternal), 1);
}

TEST(ExitCode, KnowsTheStatusOfEachReasonOfTheServer) {
  for (const auto& reason : base::reason_table()) {
    const int code = code_for(code_of_status(static_cast<int>(reason.code)));
    switch (reason.code) {
      case base::StatusCode::kInvalidArgument:
        EXPECT_EQ(code, 2);
        break;
      case base::StatusCode::kNotFound:
        EXPECT_EQ(code, 3);
        break;
      case base::StatusCode::kAlreadyExists:
      case base::StatusCode::kAborted:
      case base::StatusCode::kFailedPrecondition:
        EXPECT_EQ(code, 4);
        break;
      case base::StatusCode::kPermissionDenied:
        EXPECT_EQ(code, 5);
        break;
      case base::StatusCode::kResourceExhausted:
      case base::StatusCode::kUnavailable:
        EXPECT_EQ(code, 6);
        break;
      case base::StatusCode::kInternal:
        EXPECT_EQ(code, 1);
        break;
    }
  }
}

TEST(ExitCode, OfSeveralIsThatOfTheFirstRefused) {
  FirstFailure several;
  EXPECT_EQ(several.code(), 0);
  several.add(0);
  several.add(3);
  several.add(4);
  several.add(0);
  EXPECT_EQ(several.code(), 3);
}

}  // namespace
}  // namespace rota::cli
