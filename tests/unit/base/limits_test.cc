// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"

#include <gtest/gtest.h>

namespace rota::base::limits {
namespace {

// The limits that users rely on, spelled out: a change here is a change of the API.
TEST(Limits, ArePartOfTheApi) {
  EXPECT_EQ(kPayloadBytesDefault, 262'144);
  EXPECT_EQ(kPayloadBytesMax, 4'194'304);
  EXPECT_EQ(kResultBytesMax, 262'144);
  EXPECT_EQ(kFailureMessageBytesMax, 4'096);
  EXPECT_EQ(kFailureDetailBytesMax, 16'384);
  EXPECT_EQ(kLogTailBytesMax, 8'192);
  EXPECT_EQ(kLabelPairsMax, 32u);
  EXPECT_EQ(kLabelBytesMax, 4'096u);
  EXPECT_EQ(kRequestIdBytesMax, 64u);
  EXPECT_EQ(kNameBytesMax, 128u);
  EXPECT_EQ(kTextKeyBytesMax, 256u);
  EXPECT_EQ(kCallItemsMax, 1'000);
  EXPECT_EQ(kCallBytesMax, 8'388'608);
  EXPECT_EQ(kReceiveBytesMax, 8'650'752);
  EXPECT_EQ(kHeartbeatLeasesMax, 10'000);
  EXPECT_EQ(kLeaseQueuesMax, 64);
  EXPECT_EQ(kParkedPollsDefault, 20'000);
  EXPECT_EQ(kPageSizeDefault, 100);
  EXPECT_EQ(kPageSizeMax, 1'000);
  EXPECT_EQ(kAttemptsMax, 1'000);
  EXPECT_EQ(kBackoffMsMax, 2'592'000'000);
  EXPECT_EQ(kBackoffListMax, 32);
  EXPECT_EQ(kAttemptTimeoutMsMin, 1'000);
  EXPECT_EQ(kAttemptTimeoutMsMax, 2'592'000'000);
  EXPECT_EQ(kConcurrencyMax, 1'000'000);
  EXPECT_EQ(kLeaseTtlMsMin, 5'000);
  EXPECT_EQ(kLeaseTtlMsMax, 3'600'000);
  EXPECT_EQ(kLeaseTtlMsDefault, 30'000);
  EXPECT_EQ(kPollWaitMsMax, 30'000);
  EXPECT_EQ(kPollWaitMsDefault, 20'000);
  EXPECT_EQ(kCommandQueueCommandsDefault, 65'536);
  EXPECT_EQ(kCommandQueueBytesDefault, 67'108'864);
  EXPECT_LT(kLeaseReplyBytesDefault, 4 * kMiB);
}

}  // namespace
}  // namespace rota::base::limits
