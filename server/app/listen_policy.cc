// SPDX-License-Identifier: Apache-2.0
#include "app/listen_policy.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

namespace rota::app {
namespace {

base::Error bad_listen(const std::string& text, const std::string& why) {
  return base::invalid_field("listen", "\"" + text + "\": " + why +
                                           "; write HOST:PORT, for example 127.0.0.1:7500 or "
                                           "[::1]:7500");
}

AddressKind classify_v4(std::uint32_t address) {  // host byte order
  const auto in = [address](std::uint32_t prefix, int bits) {
    return (address >> (32 - bits)) == (prefix >> (32 - bits));
  };
  if (address == 0) return AddressKind::kWildcard;
  if (in(0x7f000000, 8)) return AddressKind::kLoopback;
  if (in(0x0a000000, 8) || in(0xac100000, 12) || in(0xc0a80000, 16)) return AddressKind::kPrivate;
  if (in(0xa9fe0000, 16)) return AddressKind::kLinkLocal;
  return AddressKind::kPublic;
}

AddressKind classify_v6(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    std::uint32_t v4 = 0;
    std::memcpy(&v4, &address.s6_addr[12], sizeof(v4));
    return classify_v4(ntohl(v4));
  }
  if (IN6_IS_ADDR_UNSPECIFIED(&address)) return AddressKind::kWildcard;
  if (IN6_IS_ADDR_LOOPBACK(&address)) return AddressKind::kLoopback;
  if (IN6_IS_ADDR_LINKLOCAL(&address)) return AddressKind::kLinkLocal;
  if ((address.s6_addr[0] & 0xfeU) == 0xfcU) return AddressKind::kPrivate;  // fc00::/7
  return AddressKind::kPublic;
}

bool is_literal(const std::string& host) {
  std::array<std::uint8_t, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

std::string HostPort::to_string() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

base::Result<HostPort> parse_listen(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return bad_listen(text, "the port is missing");
  HostPort listen;
  listen.host = text.substr(0, colon);
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data() + colon + 1, end, listen.port);
  if (fault != std::errc() || stop != end || colon + 1 == text.size()) {
    return bad_listen(text, "the port is no number from 0 to 65535");
  }
  if (listen.host.size() >= 2 && listen.host.front() == '[' && listen.host.back() == ']') {
    listen.host = listen.host.substr(1, listen.host.size() - 2);
  } else if (listen.host.find(':') != std::string::npos) {
    return bad_listen(text, "an IPv6 address stands in brackets");
  }
  if (listen.host == "localhost") listen.host = "127.0.0.1";
  if (!is_literal(listen.host)) return bad_listen(text, "the host is no address");
  return listen;
}

AddressKind classify(const std::string& host) {
  const std::string address = host.substr(0, host.find('%'));  // without the scope
  in_addr v4{};
  if (inet_pton(AF_INET, address.c_str(), &v4) == 1) return classify_v4(ntohl(v4.s_addr));
  in6_addr v6{};
  if (inet_pton(AF_INET6, address.c_str(), &v6) == 1) return classify_v6(v6);
  return AddressKind::kPublic;
}

base::Result<std::vector<Interface>> host_interfaces() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return base::make_error(
        base::Reason::kInternal,
        "the interfaces of this host cannot be listed: " + std::generic_category().message(errno));
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> guard(first, &freeifaddrs);
  std::vector<Interface> interfaces;
  for (const ifaddrs* it = first; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || (it->ifa_flags & IFF_UP) == 0) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* bytes = nullptr;
    if (it->ifa_addr->sa_family == AF_INET) {
      bytes = &reinterpret_cast<const sockaddr_in*>(it->ifa_addr)->sin_addr;
    } else if (it->ifa_addr->sa_family == AF_INET6) {
      bytes = &reinterpret_cast<const sockaddr_in6*>(it->ifa_addr)->sin6_addr;
    } else {
      continue;
    }
    if (inet_ntop(it->ifa_addr->sa_family, bytes, text.data(), text.size()) == nullptr) continue;
    interfaces.push_back({it->ifa_name, text.data()});
  }
  return interfaces;
}

std::optional<std::string> refuse_listen(const HostPort& listen, bool allow_plaintext_private,
                                         const std::vector<Interface>& interfaces) {
  const AddressKind kind = classify(listen.host);
  if (kind == AddressKind::kLoopback) return std::nullopt;
  if (kind == AddressKind::kPublic) {
    return listen.host +
           " is not a private address, and plain text is never served on a public one";
  }
  if (!allow_plaintext_private) {
    return listen.host +
           " is not a loopback address; --allow-plaintext-private serves plain text there, to "
           "everyone who can reach it";
  }
  if (kind != AddressKind::kWildcard) return std::nullopt;
  for (const Interface& interface : interfaces) {
    if (classify(interface.address) == AddressKind::kPublic) {
      return "interface " + interface.name + " carries " + interface.address +
             ", which is not a private address: plain text is not served on all interfaces; name "
             "one address";
    }
  }
  return std::nullopt;
}

std::optional<std::string> probe_bind(const HostPort& listen) {
  const bool v6 = listen.host.find(':') != std::string::npos;
  const int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::generic_category().message(errno);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  int bound = -1;
  if (v6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(listen.port);
    inet_pton(AF_INET6, listen.host.c_str(), &address.sin6_addr);
    bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(listen.port);
    inet_pton(AF_INET, listen.host.c_str(), &address.sin_addr);
    bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  // A port that another process listens on is bound without fault under SO_REUSEADDR by some
  // systems, but never listened on.
  const int error = bound != 0 || ::listen(fd, 1) != 0 ? errno : 0;
  close(fd);
  if (error == 0) return std::nullopt;
  const std::string address = listen.to_string();
  if (error == EADDRINUSE) {
    return "another process listens on " + address + "; stop it, or choose another with --listen";
  }
  if (error == EADDRNOTAVAIL) {
    return address + ": no interface of this host has that address; choose another with --listen";
  }
  return address + ": " + std::generic_category().message(error) + "; choose another with --listen";
}

}  // namespace rota::app
