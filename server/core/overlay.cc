// SPDX-License-Identifier: Apache-2.0
#include "core/overlay.h"

#include "base/mutation.h"

namespace rota::core {

std::shared_ptr<const Batch> Overlay::seal(CommitSeq seq) {
  if (open_->empty()) return nullptr;
  std::shared_ptr<const Batch> sealed = std::move(open_);
  open_ = std::make_shared<Batch>();
  if (!pins_.empty() && !planted(base::Mistake::kDropOverlay)) {
    kept_.push_back({seq, sealed});
    kept_bytes_ += sealed->bytes();
  }
  return sealed;
}

void Overlay::unpin(CommitSeq point) {
  auto it = pins_.find(point);
  if (it == pins_.end()) return;
  pins_.erase(it);
  drop_unneeded();
}

void Overlay::drop_unneeded() {
  if (pins_.empty()) {
    kept_.clear();
    kept_bytes_ = 0;
    return;
  }
  while (!kept_.empty() && kept_.front().seq <= *pins_.begin()) {
    kept_bytes_ -= kept_.front().batch->bytes();
    kept_.pop_front();
  }
}

const Batch::Change* Overlay::find(Keyspace keyspace, const std::string& key) const {
  if (const Batch::Change* change = open_->find(keyspace, key)) return change;
  for (auto it = kept_.rbegin(); it != kept_.rend(); ++it) {
    if (const Batch::Change* change = it->batch->find(keyspace, key)) return change;
  }
  return nullptr;
}

Overlay::Changes Overlay::changes(Keyspace keyspace, const std::string& begin,
                                  const std::string& end) const {
  Changes newest;
  const auto add = [&](const Batch& batch) {
    const Batch::Map& changes = batch.changes();
    for (auto it = changes.lower_bound(Batch::KeyLess::View(keyspace, begin)); it != changes.end();
         ++it) {
      if (it->first.first != keyspace || it->first.second >= end) break;
      newest[it->first.second] = &it->second;
    }
  };
  for (const Kept& kept : kept_) add(*kept.batch);
  add(*open_);
  return newest;
}

void Overlay::overlay(Keyspace keyspace, const std::string& begin, const std::string& end,
                      std::map<std::string, std::string>* rows) const {
  for (const auto& [key, change] : changes(keyspace, begin, end)) {
    if (*change) {
      rows->insert_or_assign(std::string(key), **change);
    } else {
      rows->erase(std::string(key));
    }
  }
}

std::size_t Lookup::fetched_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [key, value] : fetched_.rows) bytes += value ? value->size() : 0;
  return bytes;
}

bool Lookup::get(Keyspace keyspace, const std::string& key, const std::string** value) {
  *value = nullptr;
  if (const Batch::Change* change = overlay_.find(keyspace, key)) {
    if (change->has_value()) *value = &**change;
    return true;
  }
  if (auto it = fetched_.rows.find({keyspace, key}); it != fetched_.rows.end()) {
    if (it->second) *value = &*it->second;
    return true;
  }
  missing_.push_back({keyspace, key});
  return false;
}

}  // namespace rota::core
