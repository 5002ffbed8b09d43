// SPDX-License-Identifier: Apache-2.0
//
// The rows of one page of a listing, as they go into the answer: as many as fit into it. A reader
// hands over one row after the other and ends the page before the first that is not taken, so that
// never more than a page and the rows of one read are held, however large the rows are.
//
// A row goes into the answer as the bytes that go over the wire, not as a message. The answer lives
// until its caller has read it, and a message of many small ones takes far more than its bytes: a
// page of 1,000 jobs of 250 bytes took 3.1 MB beside the 0.25 MB that were sent, which a consumer
// that never reads made the server keep 66 times.
#pragma once

#include <cstddef>
#include <string>

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include "base/limits.h"

namespace rota::rpc {

// What a page may take, as a lease reply where its call does not say: it stays below the receive
// limit of 4 MiB that gRPC sets unless told otherwise. Its first row may be larger.
inline constexpr std::size_t kPageBytesMax = base::limits::kLeaseReplyBytesDefault;

template <class Row>
class PageRows {
 public:
  // `answer` outlives this; `field` is the number of its `repeated Row`, which stays empty: what is
  // written under a number that a message does not look into is the same on the wire.
  PageRows(google::protobuf::Message* answer, int field)
      : rows_(*answer->GetReflection()->MutableUnknownFields(answer)), field_(field) {}

  // Adds the row that `fill(Row*)` fills. False: it does not fit, and the page is as it was; a page
  // without rows takes any.
  template <class Fill>
  bool add(const Fill& fill) {
    constexpr std::size_t kFrameBytes = 6;  // tag and length of a row within the answer
    row_.Clear();
    fill(&row_);
    const std::size_t bytes = row_.ByteSizeLong() + kFrameBytes;
    if (size() > 0 && bytes_ + bytes > kPageBytesMax) return false;
    row_.SerializeToString(rows_.AddLengthDelimited(field_));
    bytes_ += bytes;
    return true;
  }

  int size() const { return rows_.field_count(); }

 private:
  google::protobuf::UnknownFieldSet& rows_;
  const int field_;
  Row row_;  // one after the other; keeps its memory
  std::size_t bytes_ = 0;
};

}  // namespace rota::rpc
