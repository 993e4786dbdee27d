#include "config/options/origins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Origins, ListsAreReadAndFaultsNamed) {
  EXPECT_THAT(*parse_origins("http://localhost:3000, app://obsidian.md  vscode-webview://*"),
              ElementsAre("http://localhost:3000", "app://obsidian.md", "vscode-webview://*"));
  EXPECT_TRUE(parse_origins(" ")->empty());
  for (const auto* bad : {"localhost:3000", "http://", "://x", "null", "http://x/", "http://x/page", "http://u@x",
                          "http://*", "https://*.example.com", "app://a*"}) {
    const auto refused = parse_origins(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_THAT(refused.error().message, HasSubstr(bad));
  }
  EXPECT_THAT(*parse_hosts("ai.example.org [fd00::1],10.0.0.1"), ElementsAre("ai.example.org", "fd00::1", "10.0.0.1"));
  for (const auto* bad : {"http://x", "x:8000", "*", "*.example.org", "a/b", "[]"})
    EXPECT_FALSE(parse_hosts(bad)) << bad;
}

TEST(Origins, OnlyExactlyTheListedOnesMatch) {
  const std::vector<std::string> listed = {"http://localhost:3000", "https://chat.example.com", "app://obsidian.md",
                                           "vscode-webview://*"};
  for (const auto* origin : {"http://localhost:3000", "HTTP://LocalHost:3000", "https://chat.example.com",
                             "https://chat.example.com:443", "app://obsidian.md", "vscode-webview://0a1b2c"}) {
    EXPECT_TRUE(is_listed_origin(origin, listed)) << origin;
  }
  for (const auto* origin :
       {"http://localhost:3001", "http://localhost", "https://localhost:3000", "http://chat.example.com",
        "https://chat.example.com.evil.com", "https://evil.com", "app://other", "app://obsidian.md.evil", "null", "",
        "vscode-webview://", "xvscode-webview://0a1b2c", "http://vscode-webview", "http://localhost:3000/"}) {
    EXPECT_FALSE(is_listed_origin(origin, listed)) << origin;
  }
}

TEST(Origins, WordsStandForThisMachineAndForEverybody) {
  const std::vector<std::string> local = {"localhost"}, all = {"*"};
  for (const auto* origin :
       {"http://localhost", "http://localhost:8080", "http://127.0.0.1:3000", "http://[::1]", "https://[::1]:3000"})
    EXPECT_TRUE(is_listed_origin(origin, local)) << origin;
  for (const auto* origin : {"http://web.example.fr", "http://notlocalhost", "http://localhost.evil.com",
                             "http://127.0.0.1.evil.com", "app://localhost", "null"})
    EXPECT_FALSE(is_listed_origin(origin, local)) << origin;
  EXPECT_TRUE(is_listed_origin("http://evil.com", all, true)) << "it has no key";
  EXPECT_FALSE(is_listed_origin("http://evil.com", all, false));
}

TEST(Origins, SamePageMeansSameNameAndPort) {
  EXPECT_TRUE(is_same_origin("http://localhost:8000", "localhost:8000"));
  EXPECT_TRUE(is_same_origin("http://My-Server", "my-server"));
  EXPECT_TRUE(is_same_origin("http://my-server", "my-server:80"));
  EXPECT_TRUE(is_same_origin("https://ai.example", "ai.example:443"));
  EXPECT_TRUE(is_same_origin("http://[::1]:8000", "[::1]:8000"));
  for (const auto* origin :
       {"http://localhost:3000", "http://localhost", "http://127.0.0.1:8000", "app://localhost:8000", "null", ""})
    EXPECT_FALSE(is_same_origin(origin, "localhost:8000")) << origin;
  EXPECT_FALSE(is_same_origin("http://", ""));
}

TEST(Origins, AddressesAreTold) {
  for (const auto* host : {"10.0.0.1", "::1", "fe80::1", "127.0.0.1"}) EXPECT_TRUE(is_address(host)) << host;
  for (const auto* host : {"10.0.0", "10.0.0.1.evil.com", "evil.com", "", "1", "::g"})
    EXPECT_FALSE(is_address(host)) << host;
  EXPECT_FALSE(is_address(std::string(60'000, '1')));
}

TEST(Origins, NamesThatNoPublicNameServerHas) {
  EXPECT_TRUE(is_container_gateway("HOST.docker.internal"));
  for (const auto* host : {"docker.internal", "host.docker.internal.", "x.host.docker.internal", ""})
    EXPECT_FALSE(is_container_gateway(host)) << host;
  for (const auto* host : {"nas", "a.local", "b.LAN", "c.internal", "d.home.arpa", "e.localdomain"})
    EXPECT_TRUE(is_private_name(host)) << host;
  for (const auto* host : {"", "evil.com", ".local", "a.local.", "xlocal.com", "10.0.0.1", "::1", "fe80::1"})
    EXPECT_FALSE(is_private_name(host)) << host;
}

}  // namespace
}  // namespace corral::config
