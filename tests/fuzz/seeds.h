// SPDX-License-Identifier: Apache-2.0
//
// Where seeds go: corpus/<target>/<name>, made anew from real encoders.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "google/protobuf/message_lite.h"

namespace rota::fuzz {

class Seeds {
 public:
  explicit Seeds(std::filesystem::path corpus) : corpus_(std::move(corpus)) {}

  void put(const std::string& target, const std::string& name, std::string_view bytes) const {
    std::filesystem::create_directories(corpus_ / target);
    std::ofstream out(corpus_ / target / name, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (out.flush()) return;
    std::cerr << "cannot write " << target << "/" << name << "\n";
    std::exit(1);
  }
  // Behind the byte that says which kind of input it is.
  void put(const std::string& target, const std::string& name, std::uint8_t kind,
           std::string_view bytes) const {
    put(target, name, static_cast<char>(kind) + std::string(bytes));
  }
  void message(const std::string& target, const std::string& name, std::uint8_t kind,
               const google::protobuf::MessageLite& message) const {
    put(target, name, kind, message.SerializeAsString());
  }
  // A record; its checksum is left to the target.
  void record(const std::string& target, const std::string& name, std::uint8_t kind,
              std::string_view envelope) const {
    put(target, name, kind, envelope.substr(0, envelope.size() - 4));
  }

 private:
  std::filesystem::path corpus_;
};

void put_record_seeds(const Seeds& seeds);
void put_request_seeds(const Seeds& seeds);
void put_call_seeds(const Seeds& seeds);

}  // namespace rota::fuzz
