// SPDX-License-Identifier: Apache-2.0
//
// The IANA time zones of the host, read through Abseil: the implementation of core's
// TimeZoneSource. It stands here because it reads files.
//
// The data is the directory named by TZDIR, else /usr/share/zoneinfo (Debian's package tzdata), as
// Abseil itself looks for it. A zone is read once and then kept until the process ends, so a newer
// package takes effect at the next start.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "core/schedule/time_zone.h"

namespace rota::runtime {

class HostZoneSource final : public core::TimeZoneSource {
 public:
  // `directory` empty: the host's. It only says where to look whether a name exists; Abseil reads
  // the file from its own directory, so that tests of other directories can only see refusals.
  explicit HostZoneSource(std::string directory = {});

  // Thread-safe. Reads a file on the first use of a name; nullptr for names without a zone file in
  // their exact case. Only names that exist are remembered, so wrong ones cost no memory.
  core::TimeZonePtr find(std::string_view name) const override;

  // The release of the data, "2024a"; empty when the directory does not say. Reads a file.
  std::string data_version() const;
  const std::string& directory() const { return directory_; }

 private:
  bool has_zone_file(std::string_view name) const;

  std::string directory_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, core::TimeZonePtr, std::less<>> zones_;
};

}  // namespace rota::runtime
