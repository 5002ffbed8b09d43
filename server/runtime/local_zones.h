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

class LocalZones final : public core::TimeZoneSource {
 public:
  // Thread-safe. Reads a file on the first use of a name; nullptr for names without a zone file in
  // their exact case. Only names that exist are remembered, so wrong ones cost no memory.
  core::TimeZonePtr find(std::string_view name) const override;

  // The release of the data, "2024a"; "unknown" when the directory does not say. Reads a file.
  static std::string data_version();

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::string, core::TimeZonePtr, std::less<>> zones_;
};

}  // namespace rota::runtime
