// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <openssl/evp.h>

#include <cstdlib>

namespace rota::base {

struct PartHasher::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

namespace {

// libcrypto fails here only without memory, or as a build without SHA-256: nothing to recover.
void require(int ok) {
  if (ok != 1) std::abort();
}

// Fetched once: EVP_sha256() looks the implementation up each time it is used.
const EVP_MD* sha256() {
  static const EVP_MD* const kFetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  require(kFetched != nullptr ? 1 : 0);
  return kFetched;
}

}  // namespace

PartHasher::PartHasher() : state_(std::make_unique<State>()) {
  require(state_->context != nullptr ? 1 : 0);
  restart();
}

void PartHasher::restart() { require(EVP_DigestInit_ex2(state_->context, sha256(), nullptr)); }

PartHasher::~PartHasher() = default;

PartHasher& PartHasher::add(std::string_view part) {
  unsigned char length[8];
  for (int i = 0; i < 8; ++i) {
    length[i] = static_cast<unsigned char>(std::uint64_t{part.size()} >> (56 - 8 * i));
  }
  require(EVP_DigestUpdate(state_->context, length, sizeof length));
  require(EVP_DigestUpdate(state_->context, part.data(), part.size()));
  return *this;
}

Digest PartHasher::finish() {
  Digest digest{};
  unsigned int size = 0;
  require(EVP_DigestFinal_ex(state_->context, digest.data(), &size));
  require(size == digest.size() ? 1 : 0);
  return digest;
}

Digest hash_parts(std::initializer_list<std::string_view> parts) {
  // Its context is used again: making one costs more than to hash a few short parts.
  static thread_local PartHasher hasher;
  hasher.restart();
  for (std::string_view part : parts) hasher.add(part);
  return hasher.finish();
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace rota::base
