// Nodes that gossip over links that are queues, with manual time.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "mesh/gossip/fake_peers_for_tests.h"
#include "mesh/gossip/gossip.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {

class GossipTest : public testing::Test {
 protected:
  struct Node {
    Node(GossipTest& test, unsigned number, std::uint64_t epoch)
        : key(test_key(number)), peers(test.air, key.public_key(), {epoch, nonce(test)}) {
      for (unsigned other = 1; other <= kNodes; ++other) peers.members.push_back(test_key(other).public_key());
      GossipOptions options;
      options.mesh = test.mesh;
      options.standing = [&test](const PublicKey& member) {
        return test.thrown_out == member ? MembershipStatus::revoked : MembershipStatus::member;
      };
      options.store_bytes = test.store_bytes;
      options.keep_epoch = [this](std::uint64_t count) { kept_epoch = count; };
      gossip = std::make_unique<Gossip>(peers, test.timers, test.loop.executor(), key, options);
      peers.listen(*gossip);
    }
    static std::array<std::uint8_t, 16> nonce(GossipTest& test) { return {++test.starts}; }
    NodeId id() const { return key.id(); }

    SigningKey key;
    FakePeers peers;
    std::unique_ptr<Gossip> gossip;
    std::uint64_t kept_epoch = 0;
  };
  static constexpr unsigned kNodes = 6;

  Node& make(unsigned number, std::uint64_t epoch = 1) {
    auto& node = nodes[number];
    node = std::make_unique<Node>(*this, number, epoch);
    return *node;
  }
  static NodeState statement(const std::string& name, unsigned models = 1) {
    NodeState node_state;
    node_state.name = name;
    for (unsigned i = 0; i < models; ++i) {
      auto& model = node_state.models.emplace_back();
      model.name = name + "-" + std::to_string(i);
      model.hash = sha256({model.name});
      model.bytes = 1000;
    }
    return node_state;
  }
  void link(Node& a, Node& b) { air.up(a.peers, b.peers); }
  void settle() { air.deliver_all(); }
  void pass(Millis time) {
    for (Millis gone(0); gone < time; gone += Millis(100)) {
      timers.advance(Millis(100));
      for (auto& [number, node] : nodes) {
        if (node && node->gossip->busy()) node->gossip->tick();
      }
      settle();
    }
  }
  static std::string word(const Node& at, const Node& of) {
    for (const auto& node : at.gossip->known()) {
      if (node.id == of.id()) return node.node_state ? node.node_state->name : "";
    }
    return "?";
  }

  MeshId mesh = mesh_id({test_key(1).public_key(), {}});
  PublicKey thrown_out;
  std::size_t store_bytes = 256 * 1024 * 1024;
  std::uint8_t starts = 0;
  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  FakeAir air;
  std::map<unsigned, std::unique_ptr<Node>> nodes;
};

}  // namespace corral::mesh
