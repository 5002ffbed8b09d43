// SPDX-License-Identifier: Apache-2.0
//
// A window in memory over an ordered range of keys in the store, of which only the front matters:
// ready jobs by rank, timers by due time.
//
// Invariant: every live key below limit() is in the window. So its first entry is the true first of
// the range, and windowing changes when something happens, never what.
//
// Insert a key with offer(), remove it with erase(); both work whether or not the key lies inside.
// Only a refill raises the limit, only eviction lowers it. While a refill is open, keys offered
// beyond the limit are remembered, since the page that is on its way may have been read before them
// or may begin behind them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/container/btree_map.h"
#include "base/mutation.h"

namespace rota::core {

template <class Key, class Entry>
class Window {
 public:
  struct Item {
    Entry entry;
    std::size_t bytes = 0;
  };
  using Map = absl::btree_map<Key, Item>;

  // `total`: what bytes() says is also part of *total, which several windows may share and which
  // outlives them.
  explicit Window(std::size_t* total = nullptr) : total_(total == nullptr ? &own_total_ : total) {}
  ~Window() { *total_ -= bytes(); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // Everything is inside: right for a range known to be empty.
  void cover_all() {
    all_ = true;
    none_ = false;
  }
  // Nothing is inside yet: right for a range that may hold rows.
  void cover_none() {
    none_ = true;
    all_ = false;
  }
  bool covers(const Key& key) const { return all_ || (!none_ && key < limit_); }
  bool covers_all() const { return all_; }
  bool covers_none() const { return none_; }
  // The first key that may be missing; meaningful when neither all nor nothing is covered.
  const Key& limit() const { return limit_; }

  // A key came into the range. Kept if it lies inside.
  void offer(const Key& key, Entry entry, std::size_t bytes) {
    if (covers(key)) {
      put(inside_, inside_bytes_, key, std::move(entry), bytes);
    } else if (refill_open_) {
      put(late_, late_bytes_, key, std::move(entry), bytes);
    }
  }
  void erase(const Key& key) {
    take(inside_, inside_bytes_, key);
    if (!late_.empty()) take(late_, late_bytes_, key);
  }
  // Removes the first entry and returns it.
  Entry pop() {
    auto first = inside_.begin();
    if (!late_.empty()) take(late_, late_bytes_, first->first);
    Entry entry = std::move(first->second.entry);
    discharge(inside_bytes_, first->second.bytes);
    inside_.erase(first);
    return entry;
  }
  const Entry* find(const Key& key) const {
    auto it = inside_.find(key);
    return it == inside_.end() ? nullptr : &it->second.entry;
  }

  bool empty() const { return inside_.empty(); }
  std::size_t size() const { return inside_.size(); }
  std::size_t bytes() const { return inside_bytes_ + late_bytes_; }
  const Map& items() const { return inside_; }
  const Key& front_key() const { return inside_.begin()->first; }
  const Entry& front() const { return inside_.begin()->second.entry; }

  // Drops the tail until at most `rows` are left, and all that waits for an open refill if that is
  // more: the page is worthless then.
  void shrink(std::size_t rows) {
    drop_tail(rows);
    if (late_.size() > rows) {
      forget_late();
      ++evictions_;
    }
  }
  // The tail only: while nothing is inside, an open refill is sure to bring the front.
  void drop_tail(std::size_t rows) {
    while (inside_.size() > rows) {
      auto last = std::prev(inside_.end());
      if (!planted(base::Mistake::kLoseWindowTail)) {
        limit_ = last->first;
        all_ = none_ = false;
      }
      discharge(inside_bytes_, last->second.bytes);
      inside_.erase(last);
      ++evictions_;
    }
  }

  bool refill_open() const { return refill_open_; }
  // A read of the range from limit() on is being issued.
  void begin_refill() {
    refill_open_ = true;
    evictions_at_refill_ = evictions_;
  }
  // The page has arrived. False: the limit has moved below it meanwhile, drop the page.
  // After true: offer_page() its live keys, then finish_refill().
  bool accept_page() const { return evictions_ == evictions_at_refill_; }
  void offer_page(const Key& key, Entry entry, std::size_t bytes) {
    put(inside_, inside_bytes_, key, std::move(entry), bytes);
  }
  // `limit`: the page showed everything below it; nullptr: everything there is.
  void finish_refill(const Key* limit) {
    if (limit == nullptr) {
      cover_all();
    } else {
      limit_ = *limit;
      all_ = none_ = false;
    }
    for (auto& [key, item] : late_) {
      if (covers(key)) put(inside_, inside_bytes_, key, std::move(item.entry), item.bytes);
    }
    abandon_refill();
  }
  void abandon_refill() {
    forget_late();
    refill_open_ = false;
  }

 private:
  void charge(std::size_t& part, std::size_t bytes) {
    part += bytes;
    *total_ += bytes;
  }
  void discharge(std::size_t& part, std::size_t bytes) {
    part -= bytes;
    *total_ -= bytes;
  }
  void put(Map& map, std::size_t& part, const Key& key, Entry entry, std::size_t bytes) {
    auto [it, fresh] = map.try_emplace(key);
    if (!fresh) discharge(part, it->second.bytes);
    it->second = Item{std::move(entry), bytes};
    charge(part, bytes);
  }
  void take(Map& map, std::size_t& part, const Key& key) {
    auto it = map.find(key);
    if (it == map.end()) return;
    discharge(part, it->second.bytes);
    map.erase(it);
  }
  void forget_late() {
    late_.clear();
    discharge(late_bytes_, late_bytes_);
  }

  Map inside_;
  Map late_;  // offered beyond the limit while a refill is open
  std::size_t inside_bytes_ = 0;
  std::size_t late_bytes_ = 0;
  std::size_t own_total_ = 0;
  std::size_t* total_;
  bool all_ = true;
  bool none_ = false;
  Key limit_{};
  bool refill_open_ = false;
  std::uint64_t evictions_ = 0;
  std::uint64_t evictions_at_refill_ = 0;
};

}  // namespace rota::core
