// SPDX-License-Identifier: Apache-2.0
//
// Encodings of the values that several records share.
#pragma once

#include "model/bytes.h"
#include "model/job.h"

namespace rota::model {

void put_labels(Writer& w, const Labels& labels);
Labels get_labels(Reader& r);
void put_times(Writer& w, const std::vector<std::int64_t>& times);
std::vector<std::int64_t> get_times(Reader& r);
void put_failure(Writer& w, const Failure& failure);
Failure get_failure(Reader& r);
void put_retry(Writer& w, const RetryPolicy& retry);
RetryPolicy get_retry(Reader& r);
void put_double(Writer& w, double v);
double get_double(Reader& r);
void put_key(Writer& w, const JobKey& key);  // the 13 key bytes
JobKey get_key(Reader& r);
void put_optional(Writer& w, const std::optional<std::int64_t>& v);
std::optional<std::int64_t> get_optional(Reader& r);

}  // namespace rota::model
