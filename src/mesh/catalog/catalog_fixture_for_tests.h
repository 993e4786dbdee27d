// Nodes and models of tests, in few words.
#pragma once

#include <gtest/gtest.h>

#include "mesh/catalog/catalog.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {

inline constexpr std::uint64_t kGB = 1'000'000'000;

// That have it on disk.
inline std::vector<NodeId> nodes_with(const MeshModel& model) {
  std::vector<NodeId> ids;
  for (const auto& copy : model.copies) ids.push_back(copy.node->id);
  return ids;
}

class CatalogFixture : public testing::Test {
 protected:
  struct Node {
    NodeId id;
    Reach reach = Reach::linked;
    NodeState node_state;
    Millis round_trip{1};
  };
  static NodeId id(unsigned number) { return test_key(number).id(); }

  // A node with `memory` GB, all free and lent.
  Node& add(unsigned number, Reach reach, std::uint64_t memory = 16) {
    auto& node = nodes[number];
    node.id = id(number);
    node.reach = reach;
    node.node_state.name = "n" + std::to_string(number);
    node.node_state.memory = {{"cpu", false, memory * kGB, memory * kGB, 0, memory * kGB}};
    node.node_state.disk_free = 100 * kGB;
    return node;
  }
  static ModelOnDisk& disk(Node& node, const std::string& name, const std::string& content = {}, std::uint64_t gb = 4) {
    auto& model = node.node_state.models.emplace_back();
    model.name = name;
    model.bytes = gb * kGB;
    model.may_copy = true;
    if (!content.empty()) model.hash = sha256({content});
    return model;
  }
  static ServedModel& serve(Node& node, const std::string& name, ServingState state = ServingState::ready) {
    auto& served = node.node_state.serving.emplace_back();
    served.name = name;
    served.state = state;
    served.slots = 2;
    return served;
  }
  std::vector<KnownNode> known() const {
    std::vector<KnownNode> list;
    for (const auto& [number, node] : nodes)
      list.push_back({node.id, node.reach, node.round_trip, std::make_shared<const NodeState>(node.node_state)});
    return list;
  }
  std::shared_ptr<const Catalog> catalog() const { return make_catalog(known()); }
  static std::vector<std::string> names(const Catalog& catalog) {
    std::vector<std::string> all;
    for (const auto& model : catalog.models()) all.push_back(model.name);
    return all;
  }

  std::map<unsigned, Node> nodes;
};

}  // namespace corral::mesh
