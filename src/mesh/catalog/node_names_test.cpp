#include "mesh/catalog/node_names.h"

#include <gtest/gtest.h>

#include "mesh/catalog/catalog_fixture_for_tests.h"

namespace corral::mesh {
namespace {

NodeId id(unsigned number) { return test_key(number).id(); }

TEST(NodeNames, NamesOfOneNodeAreShownAsTheyAre) {
  NodeNames names;
  names.set(id(1), "box");
  names.set(id(2), "vm");
  EXPECT_EQ(names.shown(id(1)), "box");
  EXPECT_EQ(names.shown(id(2)), "vm");
}

TEST(NodeNames, NodesWithOneNameAreToldApartByTheirIds) {
  NodeNames names;
  names.set(id(1), "vm");
  names.set(id(2), "vm");
  names.set(id(3), "box");
  EXPECT_EQ(names.shown(id(1)), "vm@" + short_text(id(1)));
  EXPECT_EQ(names.shown(id(2)), "vm@" + short_text(id(2)));
  EXPECT_EQ(names.shown(id(3)), "box");
  EXPECT_EQ(names.own(id(1)), "vm");
  names.set(id(2), "other");
  EXPECT_EQ(names.shown(id(1)), "vm") << "no other node has the name any longer";
  EXPECT_EQ(names.shown(id(2)), "other");
}

TEST(NodeNames, NodesWithoutANameAreShownByTheirIds) {
  NodeNames names;
  names.set(id(1), "");
  names.set(id(2), "");
  EXPECT_EQ(names.shown(id(1)), short_text(id(1)));
  EXPECT_EQ(names.shown(id(2)), short_text(id(2)));
  EXPECT_EQ(names.shown(id(9)), short_text(id(9))) << "unknown";
  EXPECT_EQ(names.own(id(9)), "");
}

using CatalogNames = CatalogFixture;

TEST_F(CatalogNames, ACatalogNamesItsNodes) {
  add(1, Reach::own).node_state.name = "vm";
  add(2, Reach::linked).node_state.name = "vm";
  add(3, Reach::away).node_state.name = "box";
  const auto made = catalog();
  EXPECT_EQ(made->names().shown(id(1)), "vm@" + short_text(id(1)));
  EXPECT_EQ(made->names().shown(id(2)), "vm@" + short_text(id(2)));
  EXPECT_EQ(made->names().shown(id(3)), "box");
}

TEST_F(CatalogNames, ANodeThatRestartedKeepsItsNameUntilItAnnouncesItself) {
  KnownNode node{id(2), Reach::linked, Millis(1), nullptr};
  NodeState before;
  before.name = "box";
  node.before = std::make_shared<const NodeState>(before);
  EXPECT_EQ(make_catalog({node})->names().shown(id(2)), "box");
}

}  // namespace
}  // namespace corral::mesh
