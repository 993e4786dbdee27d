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
#include "fleet/allotment/allot_control.h"
#include "fleet/allotment/allotter.h"
#include "fleet/announce/own_node_state.h"
#include "fleet/base/kept_file.h"
#include "fleet/copies/copy_manager.h"
#include "fleet/groups/group_runner.h"
#include "fleet/hosting/group_config.h"
#include "fleet/membership/discovery_loop.h"
#include "fleet/membership/doctor.h"
#include "fleet/membership/membership.h"
#include "fleet/membership/probe.h"
#include "fleet/node/node.h"
#include "fleet/tunnels/tunnel_acceptor.h"
#include "fleet/view/mesh_view.h"
#include "mesh/gossip/gossip.h"
#include "mesh/net/tls/tls_network.h"
#include "mesh/peers/peer_manager.h"

namespace corral::fleet {

class MemberRuntime final : private mesh::PeerEvents {
 public:
  // `seeds`: where those are that let this node in just now. `on_change`: what describe() says is different.
  MemberRuntime(async::Executor executor, async::Timers& timers, NodeOptions options, Membership membership,
                const std::vector<mesh::Address>& seeds, std::function<void()> on_change, const MakeHints& make_hints,
                CopyStorage copies, AllotConfig allotment = {}, GroupConfig groups = {});
  // After stop().
  ~MemberRuntime() override;
  MemberRuntime(const MemberRuntime&) = delete;
  MemberRuntime& operator=(const MemberRuntime&) = delete;

  void start();
  // The server is about to stop: what this node holds together with others ends once its requests have, within that
  // time.
  void wind_down(Millis within);
  // Tells the others, and ends what runs.
  async::Task<void> stop();
  void change(NodeOptions options);
  void describe(MeshView& view);
  bool is_revoked() const;
  mesh::PeerManager& peers() { return peers_; }
  mesh::Gossip& gossip() { return gossip_; }
  // What is known of this machine now.
  void tell(MachineFacts facts);

  // These three outlive this.
  async::Task<Result<Invitation>> invite(std::chrono::seconds lifetime);
  async::Task<Result<>> withdraw(std::string digits) { return own_.tokens.withdraw(std::move(digits)); }
  // `all`: and those that it let in, and so on.
  async::Task<Result<mesh::NodeId>> revoke(mesh::NodeId node, bool all);
  std::vector<mesh::IssuedToken> tokens() const { return own_.tokens.list(); }
  // Asks every peer that is linked to dial this node's addresses.
  async::Task<Examination> examine();
  // Errors: no_mesh without a place for copies; model_not_found, ambiguous_model, and those of CopyManager::order().
  Result<CopyView> copy(std::string_view model);
  Result<> cancel_copy(std::string_view model);
  // What an administrator wants of a node's memory, of this one or, if it allows that, of another. Errors: of
  // find_node(); model_not_found, ambiguous_model; those of AllotControl::ask() and Allotter::split().
  struct AllotReply {
    explicit AllotReply(async::Executor executor) : done(executor) {}
    async::Event done;
    std::string node;  // whose
    Result<> result;   // once it is done
  };
  // To have a model, nothing, or what the allocation gives it.
  Result<std::shared_ptr<AllotReply>> assign(const mesh::NodeId& node, AllotCommand wish, std::string_view model);
  // To give it back: this node and all others that have it for the mesh, or host it.
  Result<std::vector<std::shared_ptr<AllotReply>>> unload(std::string_view model);
  // See Node::unloaded_here().
  void unloaded_here(const std::vector<ModelName>& models);
  // To hold it over these nodes, of which one will be the host: which, or why not. That one is asked first, by
  // begin_split(): once it has agreed, what `others` host of it ends.
  struct SplitOrdering {
    mesh::NodeId host;
    AllotAsk ask;
    std::vector<mesh::NodeId> others;
  };
  Result<SplitOrdering> split(std::string_view model, const std::vector<mesh::NodeId>& nodes);
  std::shared_ptr<AllotReply> begin_split(const SplitOrdering& ordering) { return order(ordering.host, ordering.ask); }
  std::shared_ptr<AllotReply> end_split(const mesh::NodeId& host, const mesh::ContentKey& model);
  // nullptr: models aren't split here.
  GroupRunner* groups() { return groups_.get(); }
  // Throws this node out, and tells the others for as long as Peers::leave() does.
  async::Task<void> leave();

 private:
  void link_up(const mesh::NodeId& peer, const mesh::Hello& hello) override;
  void link_down(const mesh::NodeId& peer, const mesh::Closing& closing) override;
  void reach_changed() override;
  void members_changed() override { on_change_(); }
  void epoch_changed(const mesh::Boot& boot) override;

  static mesh::PeerManagerOptions peers_options(const NodeOptions& options, const Membership& own,
                                                const std::vector<mesh::Address>& seeds, async::ThreadPool* disk);
  std::vector<mesh::Address> addresses() const;
  async::Task<void> listen();
  async::Task<void> say_name();
  mesh::GossipOptions gossip_options();
  async::Task<void> probe(mesh::NodeId peer, std::shared_ptr<Examination> into);
  async::Task<void> look_at_sandbox(std::shared_ptr<Examination> into);
  async::Task<void> knock(StaticPeer peer, std::shared_ptr<Examination> into);
  void announce();
  void tell_of_copies();
  std::unique_ptr<Allotter> make_allotter(const AllotConfig& place);
  std::string kept_orders() const;
  void keep_orders(std::string text);
  AllotterOptions allotter_options() const;
  void look_at_allocation() const;
  Result<> obey_order(const mesh::NodeId& from, const AllotAsk& ask);
  Result<> carry_out(const AllotAsk& ask);
  // `told`: a person wants the model here, and the bounds of copies that nobody ordered don't count.
  Result<> copy_for_allocation(const mesh::MeshModel& model, bool told);
  Result<CopyView> copy_unasked(const mesh::MeshModel& model);
  std::shared_ptr<AllotReply> order(const mesh::NodeId& node, AllotAsk ask);
  async::Task<void> take_reply(mesh::NodeId node, AllotAsk ask, std::shared_ptr<AllotReply> into);
  async::Task<void> look_for_fences();
  // member_runtime_groups.cpp
  void make_groups(GroupConfig place);
  void groups_changed();
  void tell_requests();
  void lend();
  void describe_groups(MeshView& view);
  void tell_groups(mesh::NodeState& statement) const;
  async::Task<void> end_groups();
  async::Task<Result<OpenTunnel>> open_tunnel(mesh::NodeId node, mesh::ContentKey model, mesh::PlanTerm of);
  Millis idle_of(const std::string& model) const;
  mesh::ContentKey now_called(const mesh::ContentKey& model);
  std::string own_name_of(const mesh::ContentKey& model);
  std::string model_name_of(const mesh::ContentKey& model);
  std::string llama_of(const mesh::NodeId& node) const;
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
  mesh::PeerManager peers_;
  mesh::Gossip gossip_;
  Probe probe_;
  FileInspector* inspector_ = nullptr;  // of copies
  std::function<std::vector<models::FileHash>(const models::ModelInfo&)> hashes_of_;
  std::unique_ptr<CopyManager> copies_;  // none: there is no place for them
  GroupConfig group_place_;
  std::unique_ptr<GroupRunner> groups_;  // none: there is no place for them
  std::unique_ptr<TunnelAcceptor> tunnels_;
  std::vector<SplitNews> told_requests_;
  AllotControl orders_;
  std::unique_ptr<GroupControl> desk_;  // none: models aren't split here
  std::unique_ptr<KeptFile> orders_file_;
  std::unique_ptr<Allotter> allotter_;    // none: nothing is loaded here for the mesh but by requests
  bool works_ = false;                    // workers of others' models can be locked in here
  std::unique_ptr<DiscoveryLoop> hints_;  // none: nobody spreads any
  std::optional<MachineFacts> facts_;
  bool speaks_ = false;  // also without them
  mesh::NodeState said_;
  bool said_takes_ = true;                       // that copies may come
  std::weak_ptr<async::TaskGroup> examination_;  // while one is made
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
