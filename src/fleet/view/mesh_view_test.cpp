#include "fleet/view/mesh_view.h"

#include <gtest/gtest.h>

#include "fleet/base/errors.h"

namespace corral::fleet {
namespace {

mesh::NodeId id(std::uint8_t number) {
  mesh::NodeId made;
  made.bytes[0] = number;
  return made;
}

// Two nodes with the host name "vm", and a third one.
MeshView view() {
  MeshView made;
  for (const std::uint8_t number : {1, 2})
    made.nodes.push_back({.id = id(number), .name = "vm@" + mesh::short_text(id(number)), .own_name = "vm"});
  made.nodes.push_back({.id = id(3), .name = "box", .own_name = "box"});
  return made;
}

TEST(MeshView, NodesAreFoundByTheirShownNamesAndIds) {
  const auto with = view();
  for (const auto* text : {"vm@020000000000", "020000000000", "020000"}) {
    const auto found = find_node(with, text);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ((*found)->id, id(2)) << text;
  }
  const auto box = find_node(with, "box");
  ASSERT_TRUE(box);
  EXPECT_EQ((*box)->id, id(3));
}

TEST(MeshView, ANameOfTwoNodesIsRefusedWithTheNamesToUse) {
  const auto found = find_node(view(), "vm");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::node_ambiguous);
  EXPECT_EQ(found.error().message,
            "'vm' matches several nodes: use one of these names: vm@010000000000, vm@020000000000");
}

TEST(MeshView, AnUnknownNameIsRefusedWithAllNames) {
  const auto found = find_node(view(), "den");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, errc::node_not_found);
  EXPECT_EQ(found.error().message,
            "no node of the mesh has the name 'den'; nodes: vm@010000000000, vm@020000000000, box");
}

TEST(MeshView, NamesAreAsShown) {
  EXPECT_EQ(view().name_of(id(1)), "vm@010000000000");
  EXPECT_EQ(view().name_of(id(9)), "090000000000") << "no member";
}

}  // namespace
}  // namespace corral::fleet
