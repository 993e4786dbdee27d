#include "fleet/announce/own_addresses.h"

#include <gmock/gmock.h>

namespace corral::fleet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<InterfaceAddress> kMachine = {
    {"lo", "127.0.0.1", false},         {"lo", "::1", true},
    {"docker0", "172.17.0.1", false},   {"eth0", "192.168.1.7", false},
    {"eth0", "fe80::1", true},          {"eth0", "fd00::7", true},
    {"wg0", "100.64.0.7", false},       {"eth1", "169.254.1.1", false},
    {"eth2", "10.0.0.9", false, false},
};

TEST(OwnAddresses, AreThoseThatMeanSomethingElsewhereTheLikeliestFirst) {
  EXPECT_THAT(own_addresses(kMachine, {"0.0.0.0", 8100}, {}),
              ElementsAre(mesh::Address{"192.168.1.7", 8100}, mesh::Address{"100.64.0.7", 8100},
                          mesh::Address{"172.17.0.1", 8100}));
  EXPECT_THAT(own_addresses(kMachine, {"::", 8100}, {}),
              ElementsAre(mesh::Address{"192.168.1.7", 8100}, mesh::Address{"100.64.0.7", 8100},
                          mesh::Address{"fd00::7", 8100}, mesh::Address{"172.17.0.1", 8100}));
}

TEST(OwnAddresses, OneThatIsListenedOnIsTheOnlyOne) {
  EXPECT_THAT(own_addresses(kMachine, {"127.0.0.1", 9}, {}), ElementsAre(mesh::Address{"127.0.0.1", 9}));
}

TEST(OwnAddresses, WhatSomebodySaidGoesFirst) {
  EXPECT_THAT(own_addresses(kMachine, {"0.0.0.0", 8100}, {{"box.lan", 9000}}),
              ElementsAre(mesh::Address{"box.lan", 9000}));
}

TEST(OwnAddresses, AreEightAtMostAndMayBeNone) {
  std::vector<InterfaceAddress> many;
  for (int i = 0; i < 20; ++i) many.push_back({"eth0", "10.0.0." + std::to_string(i), false});
  EXPECT_EQ(own_addresses(many, {"0.0.0.0", 1}, {}).size(), 8u);
  EXPECT_THAT(own_addresses({kMachine[0]}, {"0.0.0.0", 1}, {}), IsEmpty());
}

}  // namespace
}  // namespace corral::fleet
