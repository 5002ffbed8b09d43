// SPDX-License-Identifier: Apache-2.0
#include "rpc/outcomes.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/admission.h"

namespace rota::rpc {
namespace {

class Joined {
 public:
  Joined(std::size_t parts, OnReply done) : parts_(parts), open_(parts), done_(std::move(done)) {}

  void take(std::size_t part, core::Reply reply) {
    {
      std::lock_guard lock(mutex_);
      parts_[part] = std::move(reply);
      if (--open_ > 0) return;
    }
    done_(whole());
  }

 private:
  core::Reply whole() {
    core::Reply all = std::move(*parts_.front());
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      auto* items = std::get_if<core::FinishReply>(&all.body);
      if (items == nullptr) break;
      core::Reply& next = *parts_[i];
      all.seq = std::max(all.seq, next.seq);
      if (auto* more = std::get_if<core::FinishReply>(&next.body)) {
        std::move(more->items.begin(), more->items.end(), std::back_inserter(items->items));
      } else {
        all.body = std::move(next.body);
      }
    }
    return all;
  }

  std::mutex mutex_;
  std::vector<std::optional<core::Reply>> parts_;
  std::size_t open_;
  const OnReply done_;
};

}  // namespace

std::vector<core::FinishJobs> split(core::FinishJobs outcomes) {
  std::vector<core::FinishJobs> parts;
  std::size_t bytes = 0;
  for (core::FinishItem& item : outcomes.items) {
    const std::size_t own = runtime::bytes_of(item.outcome);
    if (parts.empty() || parts.back().items.size() >= kOutcomesPerCommandMax ||
        bytes + own > kOutcomeBytesPerCommandMax) {
      parts.push_back({.session_id = outcomes.session_id, .items = {}});
      bytes = 0;
    }
    bytes += own;
    parts.back().items.push_back(std::move(item));
  }
  return parts;
}

std::vector<OnReply> join(std::size_t parts, OnReply done) {
  std::vector<OnReply> each;
  if (parts == 1) {
    each.push_back(std::move(done));
    return each;
  }
  auto joined = std::make_shared<Joined>(parts, std::move(done));
  for (std::size_t i = 0; i < parts; ++i) {
    each.emplace_back([joined, i](core::Reply reply) { joined->take(i, std::move(reply)); });
  }
  return each;
}

}  // namespace rota::rpc
