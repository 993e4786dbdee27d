// This machine as a node of a mesh: becoming a member, being one again after a restart, leaving; tokens and
// revocations; and what is known of all the others. There is always a Node, and where there is no mesh it costs
// nothing: no thread, no port, no file.
//
// The mesh runs on a loop and a thread of its own, which nobody who asks for a local model ever waits for. Every method
// may be called on any loop.
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

// A step of joining begins, at that address; it ends within `limit`, or joining has failed.
struct JoinProgress {
  mesh::JoinStep step{};
  mesh::Address address;
  Millis limit{0};
};
// Called on the loop of the mesh.
using OnJoinProgress = std::function<void(JoinProgress)>;

// A token that was just made: its text is never seen again.
struct Invitation {
  std::string text;
  mesh::IssuedToken token;
  std::vector<mesh::Address> addresses;
};

// What an engine of hints needs to know.
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

  // Comes back into the mesh that the folder knows; if it knows none, comes together with the nodes that the options
  // name (static_bootstrap.h), if they name any. Returns at once; what goes wrong is in view().
  void start();
  // The server is about to stop: what this node holds together with others ends once its requests have, within that
  // time; stop() waits for it. Returns at once.
  void wind_down(Millis within);
  // Tells the others, runs `last` on the loop of the mesh if anything ran there, and ends the thread. Once; nothing
  // works after it.
  async::Task<void> stop(std::optional<async::Task<void>> last = {});
  // Other settings; the address to listen on and the identity count at the next start.
  void change(NodeOptions options);

  MeshViewPtr view() const;
  // Of any mesh, by what the folder says. One look at a file.
  bool is_member() const;
  // Called on the loop of the mesh with each new view; one listener, set before start().
  void on_change(std::function<void(MeshViewPtr)> changed);
  // Who makes an engine of hints where the options name a port for one; set before start(). None: there are no hints.
  void use_hints(MakeHints make);
  // Where copies of models go; set before start(). None: there are no copies, neither way.
  void use_copies(CopyStorage place);
  // Who loads and unloads for the mesh; set before start(), outlives stop(). None: only requests do.
  void use_hands(AllotConfig place);
  // What this machine gives to groups; set before start(). None: models aren't split here.
  void use_groups(GroupConfig place);
  // Called on the loop of the mesh with the peers of a mesh that this node is in from now on, and with nullptr before
  // they go; one listener, set before start().
  void on_peers(std::function<void(mesh::Peers*)> changed);
  // What is known of this machine now. On any loop; without a mesh it means nothing.
  void tell(MachineFacts facts);
  // Of the mesh; runs from the first start(), create() or join() that has something to do.
  async::Loop& loop();

  // Founds a mesh of one node. Errors: in_a_mesh, change_runs; unusable_identity, and the system's own.
  async::Task<Result<MeshViewPtr>> create();
  // Joins one. Errors: in_a_mesh, change_runs; all of mesh::join_mesh, with the step that failed.
  async::Task<Result<MeshViewPtr>> join(mesh::JoinToken token, OnJoinProgress progress);
  // Tells the others that it is one no more, and forgets the mesh. Errors: no_mesh, change_runs.
  async::Task<Result<>> leave();

  // Errors: no_mesh; too_many, malformed (lifetime), bad_address.
  async::Task<Result<Invitation>> invite(std::chrono::seconds lifetime);
  // The newest first. Errors: no_mesh.
  async::Task<Result<std::vector<mesh::IssuedToken>>> tokens();
  // By its first digits. Errors: no_mesh; token_unknown, token_used.
  async::Task<Result<>> withdraw(std::string digits);
  // Orders a copy of a model to this node, by a name of the catalog; how it goes is in view(). One that failed goes on.
  // Errors: no_mesh, copy_not_needed, ambiguous_model; models::errc::model_not_found; mesh::errc::not_offered.
  async::Task<Result<CopyView>> copy(std::string model);
  // Gives it up, and removes what there is of it. Errors: no_mesh; models::errc::model_not_found.
  async::Task<Result<>> cancel_copy(std::string model);
  // What an administrator wants a node to have for the mesh, by its name or identifier: a model, or as `wish` says.
  // Errors: no_mesh, node_not_found, node_ambiguous, ambiguous_model, lends_nothing; models::errc::model_not_found; at
  // another node also not_admin_here, mesh::errc::unreachable and timed_out.
  async::Task<Result<>> assign(std::string node, AllotCommand wish, std::string model);
  // To give it back, until somebody asks for it: all nodes that have it for the mesh. Errors: no_mesh,
  // ambiguous_model; models::errc::model_not_found.
  struct Unloading {
    std::vector<std::string> told;  // names of nodes
    std::vector<Error> refused;     // each names its node
  };
  async::Task<Result<Unloading>> unload(std::string model);
  // The owner has unloaded these here: the mesh doesn't load them again before somebody asks for them.
  async::Task<void> unloaded_here(std::vector<ModelName> models);
  // A model over these nodes, one of which will host it; how that goes is in view(). Errors: as of assign(), bad_split,
  // nowhere.
  struct Split {
    mesh::NodeId host;
    mesh::ContentKey model;
    std::vector<mesh::NodeId> nodes;  // sorted
  };
  async::Task<Result<Split>> split(std::string model, std::vector<std::string> nodes);
  async::Task<Result<>> end_split(Split split);
  // What is wrong, as far as it can be found out; asks peers, and takes some seconds where they don't answer.
  async::Task<std::vector<Finding>> doctor();
  // Throws a member out for ever; by name, id or first digits. Those that it had let in stay, unless `all` says
  // otherwise. Errors: no_mesh, node_not_found, node_ambiguous, own_node; revoked (this node is no member any more).
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
