// What the mesh does about models that a node's owner has in memory.
#include "base/log.h"
#include "fleet/allotment/allotter_fixture_for_tests.h"

namespace corral::fleet {
namespace {

TEST(AllotterOwner, WhatItsOwnerLeftIdleIsntLoadedAgainByItself) {
  log::set_level(log::Level::none);
  AllotWorld world;
  world.models = {{"a", 4}};
  auto& one = world.add(1, {"a"});
  one.role = mesh::Role::member;
  one.asked = {{"a", 2}};
  one.owners["a"] = true;
  one.owners_idle = 5min;
  world.start();
  world.pass(10s);
  one.owners.clear();
  world.pass(10min);
  EXPECT_THAT(one.took(), IsEmpty());
  one.asked = {{"a", 4}};
  world.pass(30s);
  EXPECT_THAT(one.took(), ElementsAre("loads a"));
}

TEST(AllotterOwner, ManyThatAreUnloadedAtOnceAreKeptAtOnce) {
  AllotWorld world;
  world.models = {{"a", 4}, {"b", 4}, {"c", 4}};
  auto& one = world.add(1, {"a", "b", "c"});
  world.start();
  world.pass(10s);
  one.keeps = 0;
  one.allotter->unload(std::array{AllotWorld::key("a"), AllotWorld::key("b"), AllotWorld::key("c")});
  EXPECT_EQ(one.keeps, 1);
  one.allotter->unload({});
  EXPECT_EQ(one.keeps, 1);
  one.took();
  one.restart();
  world.pass(10min);
  EXPECT_THAT(one.took(), IsEmpty());
}

}  // namespace
}  // namespace corral::fleet
