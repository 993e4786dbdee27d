// Everything that a node runs while it is a member: listening, admission, links, its own announcement, and the
// announcements of peers. Made when the node founds, joins or resumes a mesh; destroyed when it leaves. On the loop of
// the mesh.
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
  // `seeds`: addresses of the nodes that have just admitted this one. `on_change`: the result of describe() has
  // changed.
  MemberRuntime(async::Executor executor, async::Timers& timers, NodeOptions options, Membership membership,
                const std::vector<mesh::Address>& seeds, std::function<void()> on_change, const MakeHints& make_hints,
                CopyStorage copies, AllotConfig allotment = {}, GroupConfig groups = {});
  // After stop().
  ~MemberRuntime() override;
  MemberRuntime(const MemberRuntime&) = delete;
  MemberRuntime& operator=(const MemberRuntime&) = delete;

  void start();
  // The server is about to stop. Groups that this node hosts or works for end after their requests, within that time.
  void wind_down(Millis within);
  // Announces the stop, and ends what runs.
  async::Task<void> stop();
  void change(NodeOptions options);
  void describe(MeshView& view);
  bool is_revoked() const;
  mesh::PeerManager& peers() { return peers_; }
  mesh::Gossip& gossip() { return gossip_; }
  // Sets the known state of this machine.
  void tell(MachineFacts facts);

  // These three tasks may outlive this object.
  async::Task<Result<Invitation>> invite(std::chrono::seconds lifetime);
  async::Task<Result<>> withdraw(std::string digits) { return own_.tokens.withdraw(std::move(digits)); }
  // `all`: also the members that it admitted, and so on.
  async::Task<Result<mesh::NodeId>> revoke(mesh::NodeId node, bool all);
  std::vector<mesh::IssuedToken> tokens() const { return own_.tokens.list(); }
  // Asks every linked peer to dial this node's addresses.
  async::Task<Examination> examine();
  // Errors: no_mesh without storage for copies; model_not_found, ambiguous_model, and those of CopyManager::order().
  Result<CopyView> copy(std::string_view model);
  Result<> cancel_copy(std::string_view model);
  // The result of an administrator's order for this node or, if it allows that, for another. Errors: of find_node();
  // model_not_found, ambiguous_model; those of AllotControl::ask() and Allotter::split().
  struct AllotReply {
    explicit AllotReply(async::Executor executor) : done(executor) {}
    async::Event done;
    std::string node;       // name of the node
    bool had = false;       // of unload(): it held the model for the mesh, or hosted it
    std::string waits_for;  // of assign(): what the model waits for there; empty: it is served or loaded at once
    Result<> result;        // once the order is done
  };
  // Orders a node to hold a model, nothing, or what the allocation assigns.
  Result<std::shared_ptr<AllotReply>> assign(const mesh::NodeId& node, AllotCommand command, std::string_view model);
  // Orders an unload at this node and all others that hold the model for the mesh, or host it.
  Result<std::vector<std::shared_ptr<AllotReply>>> unload(std::string_view model);
  // See Node::may_unload() and Node::unloaded_here().
  Result<> may_unload(const ModelName& model);
  void unloaded_here(const std::vector<ModelName>& models);
  // A split over these nodes: its host, or why it is impossible. begin_split() asks the host first. After it has
  // agreed, the groups of the model at `others` end.
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
  // Removes this node from the members, and announces this for as long as PeerManager::leave() takes.
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
  std::unique_ptr<Allotter> make_allotter(const AllotConfig& config);
  std::string kept_orders() const;
  void keep_orders(std::string text);
  AllotterOptions allotter_options() const;
  void look_at_allocation() const;
  Result<> obey_order(const mesh::NodeId& from, const AllotAsk& ask);
  Result<> carry_out(const AllotAsk& ask);
  // Second argument: a user wants the model here, so the limits of unordered copies don't apply.
  Result<> copy_for_allocation(const mesh::MeshModel& model, bool told);
  Result<CopyView> copy_unasked(const mesh::MeshModel& model);
  std::shared_ptr<AllotReply> order(const mesh::NodeId& node, AllotAsk ask);
  async::Task<void> take_reply(mesh::NodeId node, AllotAsk ask, std::shared_ptr<AllotReply> into);
  async::Task<void> look_for_fences();
  // member_runtime_groups.cpp
  void make_groups(GroupConfig config);
  void groups_changed();
  void tell_requests();
  void lend();
  void describe_groups(MeshView& view);
  void tell_groups(mesh::NodeState& node_state) const;
  async::Task<void> end_groups();
  async::Task<Result<OpenTunnel>> open_tunnel(mesh::NodeId node, mesh::ContentKey model, mesh::PlanTerm of);
  Millis idle_of(const std::string& model) const;
  mesh::ContentKey now_called(const mesh::ContentKey& model);
  std::string own_name_of(const mesh::ContentKey& model);
  std::string model_name_of(const mesh::ContentKey& model);
  std::string llama_of(const mesh::NodeId& node) const;
  Result<const mesh::MeshModel*> find_model(const mesh::Catalog& catalog, std::string_view name) const;
  std::optional<DiskModel> on_disk(const Sha256& content) const;
  NodeView describe_self();
  NodeView describe(const mesh::PeerView& peer);
  // Errors: assigned.
  Result<> may_take_away(const mesh::ContentKey& content, std::string_view name);
  // As shown to people, see mesh::NodeNames.
  std::string name_of(const mesh::NodeId& node);

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
  std::unique_ptr<CopyManager> copies_;  // none: there is no storage for copies
  GroupConfig group_config_;
  std::unique_ptr<GroupRunner> groups_;  // none: there is no GroupConfig
  std::unique_ptr<TunnelAcceptor> tunnels_;
  std::vector<SplitNews> told_requests_;
  AllotControl orders_;
  std::unique_ptr<GroupControl> desk_;  // none: models aren't split here
  std::unique_ptr<KeptFile> orders_file_;
  std::unique_ptr<Allotter> allotter_;    // none: only requests load models here for the mesh
  bool works_ = false;                    // workers of other nodes' models can be sandboxed here
  std::unique_ptr<DiscoveryLoop> hints_;  // none: no discovery agent
  std::optional<MachineFacts> facts_;
  bool speaks_ = false;  // announces even without facts
  mesh::NodeState said_;
  bool said_takes_ = true;                       // whether the announcement says that copies are accepted
  std::weak_ptr<async::TaskGroup> examination_;  // while one is running
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
