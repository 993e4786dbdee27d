// Becoming a member by configuration alone: nodes that name each other (mesh_peers) need no token.
//
//   - A node that is in no mesh asks all that it names, at once, until one lets it in: a member lets in whom its own
//     configuration names.
//   - Where nobody has a mesh yet, the node with the lowest id of those that it names and itself founds it, and only
//     that one: two that founded would never come together.
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

// How a node that is named has answered, as far as founding is concerned.
enum class BootstrapReply : std::uint8_t {
  silence,   // nobody is there
  stranger,  // somebody else is: another key, or no node at all
  refusal,   // it is there, and in a mesh that doesn't let this node in (in time)
};
BootstrapReply answer_of(const Error& why);

// Whether `own` founds the mesh of those that it names, once all of them have answered. A stranger where one of them
// should be keeps nobody else from coming together; one that refuses has a mesh, and a second one helps nobody.
bool founds(const mesh::NodeId& own, const std::map<mesh::NodeId, std::optional<BootstrapReply>>& named);
// Of the mesh that `founder` founds by configuration.
mesh::Founding configured_founding(const mesh::PublicKey& founder);

class StaticBootstrap {
 public:
  // `timers` outlives it. Of `peers` this node's own entry is passed over, so that all machines may have the same list.
  StaticBootstrap(async::Executor executor, async::Timers& timers, mesh::SigningKey key,
                  const std::vector<StaticPeer>& peers);

  // Before each round of asking: whether to ask now, to wait for the next time, or that it is over.
  enum class Next : std::uint8_t { ask, wait, end };
  using BeforeRound = std::function<Next()>;
  // After each: the members of the mesh that let this node in, or nothing, see founds() and problem().
  using OnRound = std::function<void(std::optional<mesh::MemberSet>)>;
  // Asks all at once, again and again, as often as members dial each other. Once.
  async::Task<void> run(BeforeRound before_round, OnRound on_round);
  // Gives up the round that runs, without its on_round: whoever would let this node in now would list it for nothing.
  void cut();
  const mesh::SigningKey& key() const { return key_; }
  bool founds() const;
  // Those that don't let this node in, and why, as of their last answers; the same in one sentence.
  std::vector<UnjoinedPeer> unmet() const;
  std::string problem() const;
  // Ends what runs; before it goes.
  async::Task<void> stop();

 private:
  struct Named {
    std::vector<mesh::Address> addresses;
    std::optional<BootstrapReply> answer;
    std::string said;
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
  std::shared_ptr<Round> round_;  // that runs
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
