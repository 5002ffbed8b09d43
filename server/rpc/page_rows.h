// SPDX-License-Identifier: Apache-2.0
//
// The rows of one page of a listing, as they go into the answer: as many as fit into it. A reader
// hands over one row after the other and ends the page before the first that is not taken, so that
// never more than a page and the rows of one read are held, however large the rows are.
#pragma once

#include <cstddef>

#include <google/protobuf/repeated_field.h>

#include "base/limits.h"

namespace rota::rpc {

// What a page may take, as a lease reply where its call does not say: it stays below the receive
// limit of 4 MiB that gRPC sets unless told otherwise. Its first row may be larger.
inline constexpr std::size_t kPageBytesMax = base::limits::kLeaseReplyBytesDefault;

template <class Row>
class PageRows {
 public:
  // `rows` belong to the answer and outlive this.
  explicit PageRows(google::protobuf::RepeatedPtrField<Row>* rows) : rows_(*rows) {}

  // Adds the row that `fill(Row*)` fills. False: it does not fit, and the page is as it was; a page
  // without rows takes any.
  template <class Fill>
  bool add(const Fill& fill) {
    constexpr std::size_t kFrameBytes = 6;  // tag and length of a row within the answer
    Row* row = rows_.Add();
    fill(row);
    const std::size_t bytes = row->ByteSizeLong() + kFrameBytes;
    if (rows_.size() > 1 && bytes_ + bytes > kPageBytesMax) {
      rows_.RemoveLast();
      return false;
    }
    bytes_ += bytes;
    return true;
  }

 private:
  google::protobuf::RepeatedPtrField<Row>& rows_;
  std::size_t bytes_ = 0;
};

}  // namespace rota::rpc
