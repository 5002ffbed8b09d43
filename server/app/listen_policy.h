// SPDX-License-Identifier: Apache-2.0
//
// Which address may be served in plain text: loopback always; with --allow-plaintext-private also a
// private one (RFC 1918, RFC 4193, link-local), and a wildcard while every interface of the host
// carries only such addresses, as in a container. Never a public one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"

namespace rota::app {

// An address literal; "localhost" has become 127.0.0.1.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;

  std::string to_string() const;  // "127.0.0.1:7500", "[::1]:7500"
};

// "127.0.0.1:7500", "[::1]:0", "localhost:7500". INVALID_FIELD with field "listen" for other text;
// a host name is refused, since what it means can change while the server runs.
base::Result<HostPort> parse_listen(const std::string& text);

enum class AddressKind : std::uint8_t { kLoopback, kPrivate, kLinkLocal, kWildcard, kPublic };

// Of an IPv4 or IPv6 literal (an IPv4 address inside IPv6 counts as that); public when it is no
// literal.
AddressKind classify(const std::string& host);

struct Interface {
  std::string name;
  std::string address;
};
// Every address of every interface of this host that is up.
base::Result<std::vector<Interface>> host_interfaces();

// Null: it may be served. Else why not, one sentence.
std::optional<std::string> refuse_listen(const HostPort& listen, bool allow_plaintext_private,
                                         const std::vector<Interface>& interfaces);

// Null: the port can be bound now. Else why not and what to do; for a quick answer before anything
// is opened.
std::optional<std::string> probe_bind(const HostPort& listen);

}  // namespace rota::app
