// SPDX-License-Identifier: Apache-2.0
#include "app/listen_policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rota::app {
namespace {

using testing::HasSubstr;

TEST(ParseListen, AddressesAndPorts) {
  const auto v4 = parse_listen("127.0.0.1:7500");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->host, "127.0.0.1");
  EXPECT_EQ(v4->port, 7500);
  EXPECT_EQ(v4->to_string(), "127.0.0.1:7500");
  const auto v6 = parse_listen("[::1]:0");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->to_string(), "[::1]:0");
  const auto name = parse_listen("localhost:1");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->host, "127.0.0.1");
}

TEST(ParseListen, RefusesWithAnExample) {
  for (const char* text :
       {"", "7500", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x", "127.0.0.1:-1",
        "::1:7500", "example.org:7500", "[127.0.0.1:7500", "127.0.0.1: 1"}) {
    const auto listen = parse_listen(text);
    ASSERT_FALSE(listen) << text;
    EXPECT_EQ(listen.error().field, "listen");
    EXPECT_THAT(listen.error().message, HasSubstr("127.0.0.1:7500")) << text;
  }
}

struct Kind {
  const char* address;
  AddressKind kind;
};

class Classify : public testing::TestWithParam<Kind> {};

TEST_P(Classify, KnowsTheRange) { EXPECT_EQ(classify(GetParam().address), GetParam().kind); }

constexpr Kind kKinds[] = {
    {"127.0.0.1", AddressKind::kLoopback},
    {"127.255.255.255", AddressKind::kLoopback},
    {"::1", AddressKind::kLoopback},
    {"::ffff:127.0.0.1", AddressKind::kLoopback},
    {"10.0.0.0", AddressKind::kPrivate},
    {"10.255.255.255", AddressKind::kPrivate},
    {"11.0.0.0", AddressKind::kPublic},
    {"9.255.255.255", AddressKind::kPublic},
    {"172.15.255.255", AddressKind::kPublic},
    {"172.16.0.0", AddressKind::kPrivate},
    {"172.31.255.255", AddressKind::kPrivate},
    {"172.32.0.0", AddressKind::kPublic},
    {"192.168.0.1", AddressKind::kPrivate},
    {"192.169.0.1", AddressKind::kPublic},
    {"169.254.1.1", AddressKind::kLinkLocal},
    {"fe80::1", AddressKind::kLinkLocal},
    {"fe80::1%eth0", AddressKind::kLinkLocal},
    {"fc00::1", AddressKind::kPrivate},
    {"fdff::1", AddressKind::kPrivate},
    {"fe00::1", AddressKind::kPublic},
    {"2001:db8::1", AddressKind::kPublic},
    {"::ffff:10.1.2.3", AddressKind::kPrivate},
    {"::ffff:8.8.8.8", AddressKind::kPublic},
    {"8.8.8.8", AddressKind::kPublic},
    {"100.64.0.1", AddressKind::kPublic},
    {"0.0.0.0", AddressKind::kWildcard},
    {"::", AddressKind::kWildcard},
    {"not an address", AddressKind::kPublic},
};
INSTANTIATE_TEST_SUITE_P(Ranges, Classify, testing::ValuesIn(kKinds));

const std::vector<Interface> kContainer = {
    {"lo", "127.0.0.1"}, {"eth0", "172.18.0.3"}, {"eth0", "fe80::42"}};
const std::vector<Interface> kHost = {{"lo", "127.0.0.1"}, {"eth0", "203.0.113.9"}};

std::optional<std::string> refused(const std::string& listen, bool allow,
                                   const std::vector<Interface>& interfaces = kContainer) {
  return refuse_listen(*parse_listen(listen), allow, interfaces);
}

TEST(ListenPolicy, LoopbackNeedsNothing) {
  EXPECT_FALSE(refused("127.0.0.1:7500", false));
  EXPECT_FALSE(refused("[::1]:7500", false, kHost));
}

TEST(ListenPolicy, APrivateAddressNeedsTheSwitch) {
  const auto why = refused("10.1.2.3:7500", false);
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("--allow-plaintext-private"));
  EXPECT_FALSE(refused("10.1.2.3:7500", true));
  EXPECT_FALSE(refused("10.1.2.3:7500", true, kHost))
      << "one address is named, the others stay shut";
  EXPECT_FALSE(refused("[fd00::1]:7500", true));
  EXPECT_FALSE(refused("169.254.7.7:7500", true));
}

TEST(ListenPolicy, APublicAddressIsNeverServed) {
  EXPECT_TRUE(refused("203.0.113.9:7500", true));
  EXPECT_TRUE(refused("[2001:db8::1]:7500", true));
}

TEST(ListenPolicy, AWildcardIsServedWhileAllInterfacesArePrivate) {
  EXPECT_TRUE(refused("0.0.0.0:7500", false));
  EXPECT_FALSE(refused("0.0.0.0:7500", true));
  EXPECT_FALSE(refused("[::]:7500", true));
  const auto why = refused("0.0.0.0:7500", true, kHost);
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("203.0.113.9"));
}

TEST(ListenPolicy, TheHostHasALoopbackInterface) {
  const auto interfaces = host_interfaces();
  ASSERT_TRUE(interfaces);
  EXPECT_THAT(*interfaces, testing::Contains(testing::Field(&Interface::address, "127.0.0.1")));
}

TEST(ProbeBind, SaysWhenAnotherListens) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(fd, 1), 0);
  ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  const HostPort taken{"127.0.0.1", ntohs(address.sin_port)};
  const auto why = probe_bind(taken);
  ASSERT_TRUE(why);
  EXPECT_THAT(*why, HasSubstr("another process listens"));
  EXPECT_THAT(*why, HasSubstr("; stop it, or "));
  close(fd);
  EXPECT_FALSE(probe_bind(taken));
  EXPECT_FALSE(probe_bind({"127.0.0.1", 0}));
  const auto foreign = probe_bind({"192.0.2.1", 0});
  ASSERT_TRUE(foreign) << "not an address of this host";
  EXPECT_THAT(*foreign, HasSubstr("no interface of this host has that address"));
  EXPECT_THAT(*foreign, Not(HasSubstr("stop it")));
}

}  // namespace
}  // namespace rota::app
