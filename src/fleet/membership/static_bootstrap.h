// Membership by configuration alone: nodes that name each other (mesh_peers) need no token.
//
//   - A node in no mesh asks all nodes that it names, at once, until one admits it. A member admits the nodes that its
//     own configuration names.
//   - While no node has a mesh, only the node with the lowest id of those named and itself founds it: two meshes
//     would never merge.
//   - It founds with a fixed nonce: a founder whose disk was lost founds the same mesh again, not another one.
//
// On the loop of the mesh.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_group.h"
#include "fleet/base/node_options.h"
#include "fleet/view/mesh_view.h"
#include "mesh/link/join.h"
#include "mesh/net/tls/tls_network.h"

namespace corral::fleet {

// How a named node has answered, for the decision about founding.
enum class BootstrapReply : std::uint8_t {
  silence,     // no answer at the address
  wrong_node,  // another key, or no node at all
  refusal,     // the node is in a mesh that didn't admit this node (in time)
};
BootstrapReply answer_of(const Error& why);

// Whether `own` founds the mesh of the nodes that it names, once all of them have answered. A stranger doesn't prevent
// the others from forming a mesh. A refusal does: that node has a mesh, and a second one would be useless.
bool founds(const mesh::NodeId& own, const std::map<mesh::NodeId, std::optional<BootstrapReply>>& named);
// Parameters of the mesh that `founder` founds by configuration.
mesh::Founding configured_founding(const mesh::PublicKey& founder);

class StaticBootstrap {
 public:
  // `timers` outlives it. This node's own entry in `peers` is ignored, so that all machines may have the same list.
  StaticBootstrap(async::Executor executor, async::Timers& timers, mesh::SigningKey key,
                  const std::vector<StaticPeer>& peers);

  // Called before each round of asking: ask now, wait for the next time, or end.
  enum class Next : std::uint8_t { ask, wait, end };
  using BeforeRound = std::function<Next()>;
  // Called after each round: the members of the mesh that admitted this node, or nullopt, see founds() and problem().
  using OnRound = std::function<void(std::optional<mesh::MemberSet>)>;
  // Asks all at once, repeatedly, as often as members dial each other. Once.
  async::Task<void> run(BeforeRound before_round, OnRound on_round);
  // Aborts the running round, without its on_round: an admission now would only leave a useless entry in the mesh's
  // member list.
  void cut();
  const mesh::SigningKey& key() const { return key_; }
  bool founds() const;
  // Nodes that don't admit this node, and why, by their last answers; the same as one sentence.
  std::vector<UnjoinedPeer> unmet() const;
  std::string problem() const;
  // Ends what runs; before the destructor.
  async::Task<void> stop();

 private:
  struct Named {
    std::vector<mesh::Address> addresses;
    std::optional<BootstrapReply> answer;
    std::string reply;
  };
  struct Round {
    explicit Round(async::Executor executor, std::size_t asked) : done(executor), left(asked) {}
    async::Event done;
    std::size_t left;
    bool cut = false;
    std::optional<mesh::MemberSet> joined;
  };
  async::Task<void> ask(std::shared_ptr<Round> round);
  async::Task<void> ask_one(mesh::NodeId node, std::shared_ptr<Round> round);

  const async::Executor executor_;
  async::Timers& timers_;
  const mesh::SigningKey key_;
  mesh::TlsNetwork network_;
  std::map<mesh::NodeId, Named> named_;
  std::shared_ptr<Round> round_;  // the running one
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
