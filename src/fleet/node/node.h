// This machine as a node of a mesh: membership (found, join, resume after a restart, leave), tokens and revocations,
// and the view of all other nodes. There is always a Node; outside a mesh it has no thread, port or file.
//
// The mesh runs on its own loop and thread; requests for local models never wait for it. Every method may be called on
// any loop.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "async/loop.h"
#include "async/timer.h"
#include "fleet/allotment/allot_control.h"
#include "fleet/allotment/allotter.h"
#include "fleet/announce/own_node_state.h"
#include "fleet/base/node_options.h"
#include "fleet/copies/copy_manager.h"
#include "fleet/hosting/group_config.h"
#include "fleet/membership/doctor.h"
#include "fleet/view/mesh_view.h"
#include "mesh/hints/peer_discovery.h"
#include "mesh/link/join.h"
#include "mesh/members/join_token_store.h"
#include "mesh/peers/peers.h"

namespace corral::fleet {

// A step of a join begins at that address; the join fails if the step takes longer than `limit`.
struct JoinProgress {
  mesh::JoinStep step{};
  mesh::Address address;
  Millis limit{0};
};
// Called on the loop of the mesh.
using OnJoinProgress = std::function<void(JoinProgress)>;

// A new token; its text is shown only once.
struct Invitation {
  std::string text;
  mesh::IssuedToken token;
  std::vector<mesh::Address> addresses;
};

// Configuration of a discovery agent.
struct DiscoveryConfig {
  mesh::NodeId node;
  mesh::MeshId mesh;
  mesh::Address bind;
  std::filesystem::path folder;
};
// On the loop of the mesh.
using MakeHints = std::function<std::unique_ptr<mesh::PeerDiscovery>(async::Executor, DiscoveryConfig)>;

class Node {
 public:
  // `timers` outlives it.
  Node(async::Timers& timers, NodeOptions options);
  // After stop(), if anything was started.
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Resumes the mesh of the folder. Without one it forms a mesh with the nodes that the options name
  // (static_bootstrap.h), if any. Returns at once; errors are in view().
  void start();
  // The server is about to stop. Groups that this node hosts or works for end after their requests, within that time;
  // stop() waits for them. Returns at once.
  void wind_down(Millis within);
  // Announces the stop, runs `last` on the loop of the mesh if anything ran there, and ends the thread. Once; nothing
  // works after it.
  async::Task<void> stop(std::optional<async::Task<void>> last = {});
  // Applies new settings; the listen address and the identity take effect at the next start.
  void change(NodeOptions options);

  MeshViewPtr view() const;
  // Whether the folder says that this node is a member of any mesh. Reads one file.
  bool is_member() const;
  // Called on the loop of the mesh with each new view; one listener, set before start().
  void on_change(std::function<void(MeshViewPtr)> changed);
  // Creates the discovery agent if the options set a port for it; set before start(). None: there is no discovery.
  void use_hints(MakeHints make);
  // Storage of copied models; set before start(). None: no copies to or from this node.
  void use_copies(CopyStorage storage);
  // Loads and unloads models for the mesh; set before start(), outlives stop(). None: only requests load models.
  void use_allotment(AllotConfig config);
  // What this machine provides for groups; set before start(). None: models aren't split here.
  void use_groups(GroupConfig config);
  // Called on the loop of the mesh: with the peers when this node becomes a member, and with nullptr before they are
  // destroyed. One listener, set before start().
  void on_peers(std::function<void(mesh::Peers*)> changed);
  // Sets the known state of this machine. On any loop; ignored outside a mesh.
  void tell(MachineFacts facts);
  // The mesh's loop; runs from the first start(), create() or join() that needs it.
  async::Loop& loop();

  // Founds a mesh of one node. Errors: in_a_mesh, change_runs; unusable_identity, and the system's own.
  async::Task<Result<MeshViewPtr>> create();
  // Joins a mesh. Errors: in_a_mesh, change_runs; all of mesh::join_mesh, with the step that failed.
  async::Task<Result<MeshViewPtr>> join(mesh::JoinToken token, OnJoinProgress progress);
  // Announces that this node leaves, and removes the mesh's files. Errors: no_mesh, change_runs.
  async::Task<Result<>> leave();

  // Errors: no_mesh; too_many, malformed (lifetime), bad_address.
  async::Task<Result<Invitation>> invite(std::chrono::seconds lifetime);
  // Open tokens, the newest first. Errors: no_mesh.
  async::Task<Result<std::vector<mesh::IssuedToken>>> tokens();
  // Withdraws a token by its first digits. Errors: no_mesh; token_unknown, token_used.
  async::Task<Result<>> withdraw(std::string digits);
  // Orders a copy of a model to this node, by a name of the catalog; progress is in view(). Resumes a failed copy.
  // Errors: no_mesh, copy_not_needed, ambiguous_model; models::errc::model_not_found; mesh::errc::not_offered.
  async::Task<Result<CopyView>> copy(std::string model);
  // Cancels a copy and removes its files. Errors: no_mesh; models::errc::model_not_found.
  async::Task<Result<>> cancel_copy(std::string model);
  // An administrator's order for a node, given by name or identifier: hold a model for the mesh, or another
  // AllotCommand. The result is a sentence for people: what an assigned model waits for there, and what to do; empty:
  // it is served, or loaded at once. Errors: no_mesh, node_not_found, node_ambiguous, ambiguous_model, lends_nothing;
  // models::errc::model_not_found; at another node also not_admin_here, mesh::errc::unreachable and timed_out.
  async::Task<Result<std::string>> assign(std::string node, AllotCommand command, std::string model);
  // Unloads the model at all nodes that hold it for the mesh, until a request needs it. Nodes that it is assigned to
  // keep it (refused: errc::assigned). Errors: no_mesh, ambiguous_model; models::errc::model_not_found.
  struct Unloading {
    std::vector<std::string> told;  // names of nodes that had the model and unload it
    std::vector<Error> refused;     // each names its node
  };
  async::Task<Result<Unloading>> unload(std::string model);
  // Whether an unload of this model here would last. Errors: assigned (this node is assigned to it, and would load it
  // again).
  async::Task<Result<>> may_unload(ModelName model);
  // The owner has unloaded these models here: the mesh doesn't load them until requests need them.
  async::Task<void> unloaded_here(std::vector<ModelName> models);
  // Splits a model over these nodes, one of which will host it; progress is in view(). Errors: as of assign(),
  // bad_split, nowhere.
  struct Split {
    mesh::NodeId host;
    mesh::ContentKey model;
    std::vector<mesh::NodeId> nodes;  // sorted
  };
  async::Task<Result<Split>> split(std::string model, std::vector<std::string> nodes);
  async::Task<Result<>> end_split(Split split);
  // Finds problems of this node's mesh. Asks peers, and takes some seconds if they don't answer.
  async::Task<std::vector<Finding>> doctor();
  // Revokes a member permanently; by name, id or first digits. Nodes that it has admitted stay, unless `all` is set.
  // Errors: no_mesh, node_not_found, node_ambiguous, own_node; revoked (this node is itself revoked).
  async::Task<Result<mesh::NodeId>> revoke(std::string node, bool all);

 private:
  class Impl;

  // Starts the thread if it doesn't run. Errors: stopping.
  Result<> run();
  bool runs() const;
  // Runs a method of Impl on the loop of the mesh. Errors: no_mesh (the thread doesn't run), and the method's own.
  template <typename T, typename... Parameters>
  async::Task<Result<T>> ask(async::Task<Result<T>> (Impl::*method)(Parameters...),
                             std::type_identity_t<Parameters>... arguments);
  // The same, but starts the thread first. Errors: those of run(), and the method's own.
  template <typename T, typename... Parameters>
  async::Task<Result<T>> begin(async::Task<Result<T>> (Impl::*method)(Parameters...),
                               std::type_identity_t<Parameters>... arguments);

  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::fleet
