// SPDX-License-Identifier: Apache-2.0
//
// The IANA zones of this machine for the engine's schedules, through absl::TimeZone. Loaded zones
// are kept, so that the same name is always answered with the same object and the same rules: an
// update of the machine's data is used after the next start.
//
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/schedule/time_zone.h"

namespace rota::runtime {

class LocalZones final : public core::TimeZoneSource {
 public:
  core::TimeZonePtr find(std::string_view name) const override;

  // Version of the machine's data, "2024a"; "unknown" when the machine does not say.
  static std::string data_version();

 private:
  mutable std::mutex mutex_;
  // Bounded by the data: only names that exist are kept.
  mutable std::map<std::string, core::TimeZonePtr, std::less<>> known_;
};

}  // namespace rota::runtime
