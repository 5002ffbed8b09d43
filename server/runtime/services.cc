// SPDX-License-Identifier: Apache-2.0
#include "runtime/services.h"

#include <algorithm>
#include <utility>

namespace rota::runtime {

void Warnings::set(const std::string& name, std::string sentence) {
  std::lock_guard lock(mutex_);
  for (auto& [known, text] : sentences_) {
    if (known == name) {
      text = std::move(sentence);
      return;
    }
  }
  sentences_.emplace_back(name, std::move(sentence));
}

void Warnings::clear(const std::string& name) {
  std::lock_guard lock(mutex_);
  std::erase_if(sentences_, [&](const auto& entry) { return entry.first == name; });
}

std::vector<std::string> Warnings::list() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> sentences;
  for (const auto& [name, text] : sentences_) sentences.push_back(text);
  return sentences;
}

}  // namespace rota::runtime
