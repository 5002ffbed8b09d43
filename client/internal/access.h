// SPDX-License-Identifier: Apache-2.0
// The door from the worker library to the insides of a Client.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "rota/client.h"

namespace rota::internal {

using LogFunction = std::function<void(int level, std::string_view line)>;

struct ClientAccess {
  static const std::shared_ptr<ClientCore>& core(const Client& client) { return client.core_; }
  static Client make(std::shared_ptr<ClientCore> core) { return Client(std::move(core)); }
};

// The log function of the client's options; never empty.
ROTA_EXPORT LogFunction client_log(const Client& client);

}  // namespace rota::internal
