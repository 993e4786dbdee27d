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
  void set_facts(MachineFacts facts);

  // Asks every linked peer to dial this node's addresses.
  async::Task<Examination> examine();

  // Operations, for Node::ask(). This object may be destroyed while they wait.
  // Errors: too_many, malformed (lifetime), bad_address.
  async::Task<Result<Invitation>> invite(std::chrono::seconds lifetime);
  // Open tokens, the newest first.
  async::Task<Result<std::vector<mesh::IssuedToken>>> tokens() { co_return own_.tokens.list(); }
  // Withdraws a token by its first digits. Errors: token_unknown, token_used.
  async::Task<Result<>> withdraw(std::string digits) { return own_.tokens.withdraw(std::move(digits)); }
  // Revokes a member permanently; by name, id or first digits. Nodes that it has admitted stay, unless `all` is set.
  // Errors: node_not_found, node_ambiguous, own_node; revoked (this node is itself revoked).
  async::Task<Result<mesh::NodeId>> revoke(std::string node, bool all);
  // Orders a copy of a model to this node, by a name of the catalog; progress is in the view. Resumes a failed copy.
  // Errors: no_mesh without storage for copies; model_not_found, ambiguous_model, and those of CopyManager::order().
  async::Task<Result<CopyView>> copy(std::string model);
  // Cancels a copy and removes its files. Errors: models::errc::model_not_found.
  async::Task<Result<>> cancel_copy(std::string model);
  // An administrator's order for a node, given by name or identifier: hold a model for the mesh, or another
  // AllotCommand. The result is a sentence for people: what an assigned model waits for there, and what to do; empty:
  // it is served, or loaded at once. Errors: node_not_found, node_ambiguous, ambiguous_model, lends_nothing;
  // models::errc::model_not_found; at another node also not_admin_here, mesh::errc::unreachable and timed_out.
  async::Task<Result<std::string>> assign(std::string node, AllotCommand command, std::string model);
  // Unloads the model at all nodes that hold it for the mesh, or host it, until a request needs it. Nodes that it is
  // assigned to keep it (refused: errc::assigned). Errors: ambiguous_model; models::errc::model_not_found.
  struct Unloading {
    std::vector<std::string> accepted;  // names of nodes that had the model and unload it
    std::vector<Error> refused;         // each names its node
  };
  async::Task<Result<Unloading>> unload(std::string model);
  // Whether an unload of this model here would last. Errors: assigned (this node is assigned to it, and would load it
  // again).
  async::Task<Result<>> may_unload(ModelName model);
  // The owner has unloaded these models here: the mesh doesn't load them until requests need them.
  async::Task<Result<>> unloaded_here(std::vector<ModelName> models);
  // Splits a model over these nodes, one of which will host it; progress is in the view. The host is asked first. After
  // it has agreed, the model's groups at other nodes end. Errors: as of assign(), bad_split, nowhere.
  struct Split {
    mesh::NodeId host;
    mesh::ContentKey model;
    std::vector<mesh::NodeId> nodes;  // sorted
  };
  async::Task<Result<Split>> split(std::string model, std::vector<std::string> nodes);
  async::Task<Result<>> end_split(Split split);

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
  async::Task<void> announce_name();
  mesh::GossipOptions gossip_options();
  async::Task<void> probe(mesh::NodeId peer, std::shared_ptr<Examination> into);
  async::Task<void> look_at_sandbox(std::shared_ptr<Examination> into);
  async::Task<void> dial_configured(StaticPeer peer, std::shared_ptr<Examination> into);
  // A node, by what users call it: see find_node().
  Result<mesh::NodeId> find(std::string_view node);
  void announce();
  void announce_copies();
  std::unique_ptr<Allotter> make_allotter(const AllotConfig& config);
  std::string kept_orders() const;
  void keep_orders(std::string text);
  AllotterOptions allotter_options() const;
  void look_at_allocation() const;
  Result<> obey_order(const mesh::NodeId& from, const AllotAsk& ask);
  Result<> carry_out(const AllotAsk& ask);
  // Second argument: a user wants the model here, so the limits of unordered copies don't apply.
  Result<> copy_for_allocation(const mesh::MeshModel& model, bool ordered);
  Result<CopyView> copy_unasked(const mesh::MeshModel& model);
  // A node's reply to an order.
  struct AllotReply {
    explicit AllotReply(async::Executor executor) : done(executor) {}
    async::Event done;
    std::string node;  // its name
    Result<> result;   // once the order is done
  };
  std::shared_ptr<AllotReply> order(const mesh::NodeId& node, AllotAsk ask);
  async::Task<void> take_reply(mesh::NodeId node, AllotAsk ask, std::shared_ptr<AllotReply> into);
  async::Task<void> look_for_fences();
  // member_runtime_groups.cpp
  void make_groups(GroupConfig config);
  void groups_changed();
  void publish_splits();
  void lend();
  void describe_groups(MeshView& view);
  void add_groups(mesh::NodeState& node_state) const;
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
  std::vector<SplitStatus> published_splits_;
  AllotControl orders_;
  std::unique_ptr<GroupControl> group_control_;  // none: models aren't split here
  std::unique_ptr<KeptFile> orders_file_;
  std::unique_ptr<Allotter> allotter_;    // none: only requests load models here for the mesh
  bool works_ = false;                    // workers of other nodes' models can be sandboxed here
  std::unique_ptr<DiscoveryLoop> hints_;  // none: no discovery agent
  std::optional<MachineFacts> facts_;
  bool speaks_ = false;  // announces even without facts
  mesh::NodeState announced_;
  bool announced_takes_ = true;                  // whether the announcement says that copies are accepted
  std::weak_ptr<async::TaskGroup> examination_;  // while one is running
  // Leaves or stops: gives no more orders. Shared with operations that wait.
  const std::shared_ptr<bool> ends_ = std::make_shared<bool>(false);
  async::TaskGroup tasks_;
};

}  // namespace corral::fleet
