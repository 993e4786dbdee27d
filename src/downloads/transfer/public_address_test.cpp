#include "downloads/transfer/public_address.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace corral::downloads {
namespace {

TEST(PublicAddress, OnlyTheInternetIsPublic) {
  for (const auto* text : {"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1",
                           "192.167.1.1", "198.17.0.1", "198.20.0.1", "223.255.255.255", "2606:4700::1111",
                           "2a00:1450:4001::200e", "2001:4860:4860::8888", "2001:200::1"})
    EXPECT_TRUE(is_public(boost::asio::ip::make_address(text))) << text;
  for (const auto* text : {"0.0.0.0",
                           "0.1.2.3",
                           "10.0.0.1",
                           "10.255.255.255",
                           "100.64.0.1",
                           "100.127.255.255",
                           "127.0.0.1",
                           "127.255.0.1",
                           "169.254.169.254",
                           "172.16.0.1",
                           "172.31.255.255",
                           "192.0.0.1",
                           "192.0.2.1",
                           "192.88.99.1",
                           "192.168.1.1",
                           "198.18.0.1",
                           "198.19.255.255",
                           "198.51.100.7",
                           "203.0.113.9",
                           "224.0.0.1",
                           "239.255.255.255",
                           "240.0.0.1",
                           "255.255.255.255",
                           "::",
                           "::1",
                           "::ffff:1.1.1.1",
                           "::ffff:127.0.0.1",
                           "::1.1.1.1",
                           "64:ff9b::1.1.1.1",
                           "fe80::1",
                           "fec0::1",
                           "fc00::1",
                           "fd12:3456::1",
                           "ff02::1",
                           "2001::1",
                           "2001:db8::1",
                           "2002:7f00:1::",
                           "3fff:0fff::1",
                           "100::1"})
    EXPECT_FALSE(is_public(boost::asio::ip::make_address(text))) << text;
}

TEST(PublicAddress, NeighboursAreInALocalNetwork) {
  const auto at = [](const char* text) { return boost::asio::ip::make_address(text); };
  const LocalNetwork v4{at("203.0.112.5"), 23}, v6{at("2a02:1:2:3::5"), 64}, one{at("198.51.99.1"), 32};
  for (const auto* text : {"203.0.112.5", "203.0.112.9", "203.0.113.200"}) EXPECT_TRUE(is_in(at(text), v4)) << text;
  for (const auto* text : {"203.0.114.1", "203.0.111.255", "2a02:1:2:3::5"}) EXPECT_FALSE(is_in(at(text), v4)) << text;
  for (const auto* text : {"2a02:1:2:3::1", "2a02:1:2:3:ffff::1"}) EXPECT_TRUE(is_in(at(text), v6)) << text;
  for (const auto* text : {"2a02:1:2:4::1", "203.0.112.5"}) EXPECT_FALSE(is_in(at(text), v6)) << text;
  EXPECT_TRUE(is_in(at("198.51.99.1"), one));
  EXPECT_FALSE(is_in(at("198.51.99.2"), one));
}

TEST(PublicAddress, ThisMachineIsInItsNetworks) {
  const auto networks = local_networks();
  EXPECT_TRUE(std::ranges::any_of(
      networks, [](const auto& network) { return is_in(boost::asio::ip::make_address("127.0.0.1"), network); }));
}

}  // namespace
}  // namespace corral::downloads
