// What a node is while it is a member: it listens, lets others in, has links, says what it has and hears what they
// have. Made when a mesh is founded, joined or come back to, gone when it is left. On the loop of the mesh.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "fleet/copy_bringer.h"
#include "fleet/copy_desk.h"
#include "fleet/copy_errands.h"
#include "fleet/doctor.h"
#include "fleet/hint_follower.h"
#include "fleet/membership.h"
#include "fleet/mesh_view.h"
#include "fleet/node.h"
#include "fleet/own_statement.h"
#include "fleet/probe.h"
#include "mesh/gossip/gossip.h"
#include "mesh/net/tls/tls_network.h"
#include "mesh/peers/live_peers.h"

namespace corral::fleet {

class Presence final : private mesh::PeerEvents {
 public:
  // `seeds`: where those are that let this node in just now. `on_change`: what describe() says is different.
  Presence(async::Executor executor, async::Timers& timers, NodeOptions options, Membership membership,
           const std::vector<mesh::Address>& seeds, std::function<void()> on_change, const MakeHints& make_hints,
           CopyPlace copies);
  // After stop().
  ~Presence() override;
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

  void start();
  // Tells the others, and ends what runs.
  async::Task<void> stop();
  void change(NodeOptions options);
  void describe(MeshView& view);
  bool is_revoked() const;
  mesh::LivePeers& peers() { return peers_; }
  mesh::Gossip& gossip() { return gossip_; }
  // What is known of this machine now.
  void tell(MachineFacts facts);

  Result<Invitation> invite(std::chrono::seconds lifetime);
  std::vector<mesh::IssuedToken> tokens() const { return own_.tokens.list(); }
  Result<> withdraw(std::string_view digits);
  // `all`: and those that it let in, and so on.
  Result<mesh::NodeId> revoke(const mesh::NodeId& node, bool all);
  // Asks every peer that is linked to dial this node's addresses.
  async::Task<Examination> examine();
  // Errors: no_mesh without a place for copies; model_not_found, ambiguous_model, and those of CopyDesk::order().
  Result<CopyView> copy(std::string_view model);
  Result<> cancel_copy(std::string_view model);
  // What another node says of a copy; outlives this. `result`: none, if this node has left the mesh meanwhile.
  struct CopyReply {
    explicit CopyReply(async::Executor executor) : done(executor) {}
    async::Event done;
    std::optional<Result<CopyView>> result;
  };
  // Orders a copy at another node, or asks how it is. Errors: as of copy(); in the reply also those of
  // CopyErrands::ask().
  Result<std::shared_ptr<CopyReply>> copy_at(const mesh::NodeId& node, std::string_view model);
  std::shared_ptr<CopyReply> copy_state_at(const mesh::NodeId& node, const Sha256& content);
  // See CopyBringer.
  std::optional<Error> bring(const mesh::Catalog& catalog, const mesh::MeshModel& model,
                             std::span<const mesh::NodeId> to);
  // Throws this node out, and tells the others for as long as Peers::leave() does.
  async::Task<void> leave();

 private:
  void link_up(const mesh::NodeId& peer, const mesh::Hello& hello) override;
  void link_down(const mesh::NodeId& peer, const mesh::Closing& closing) override;
  void reach_changed() override { on_change_(); }
  void members_changed() override { on_change_(); }
  void epoch_changed(const mesh::Boot& boot) override;

  static mesh::LivePeersOptions peers_options(const NodeOptions& options, const Membership& own,
                                              const std::vector<mesh::Address>& seeds);
  std::vector<mesh::Address> addresses() const;
  async::Task<void> listen();
  async::Task<void> say_name();
  mesh::GossipOptions gossip_options();
  async::Task<void> probe(mesh::NodeId peer, std::shared_ptr<Examination> into);
  async::Task<void> look_at_sandbox(std::shared_ptr<Examination> into);
  async::Task<void> knock(StaticPeer peer, std::shared_ptr<Examination> into);
  void announce();
  // What another node, or a request here, wants of this one.
  Result<CopyView> obey(const mesh::NodeId& from, const CopyAsk& ask);
  void tell_of_copies();
  bool takes_requests() const { return options_.auto_copy && options_.role != mesh::Role::client; }
  // `own`: of a client of this node.
  Result<CopyView> copy_for_request(const Sha256& content, bool own);
  async::Task<Result<CopyView>> order_for_request(mesh::NodeId node, Sha256 content);
  std::shared_ptr<CopyReply> ask_of_copy(const mesh::NodeId& node, CopyWish wish, const Sha256& content);
  async::Task<void> take_reply(mesh::NodeId node, CopyWish wish, Sha256 content, std::shared_ptr<CopyReply> into);
  Result<const mesh::MeshModel*> find_model(const mesh::Catalog& catalog, std::string_view name) const;
  std::optional<DiskModel> on_disk(const Sha256& content) const;
  NodeView describe_self() const;
  NodeView describe(const mesh::PeerView& peer) const;
  // As it calls itself, else the first digits of its id.
  std::string name_of(const mesh::NodeId& node) const;

  const async::Executor executor_;
  async::Timers& timers_;
  NodeOptions options_;
  Membership own_;
  const std::function<void()> on_change_;
  std::optional<mesh::Address> listening_;
  std::string problem_;
  mesh::TlsNetwork network_;
  mesh::LivePeers peers_;
  mesh::Gossip gossip_;
  Probe probe_;
  CopyErrands errands_;
  CopyBringer bringer_;
  FileInspector* inspector_ = nullptr;  // of copies
  std::function<std::vector<models::FileHash>(const models::ModelInfo&)> hashes_of_;
  std::unique_ptr<CopyDesk> copies_;     // none: there is no place for them
  std::unique_ptr<HintFollower> hints_;  // none: nobody spreads any
  std::optional<MachineFacts> facts_;
  mesh::Statement said_;
  std::weak_ptr<async::TaskGroup> examination_;  // while one is made
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
