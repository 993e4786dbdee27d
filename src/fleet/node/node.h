// This machine as a node of a mesh: membership (found, join, resume after a restart, leave), the view of all other
// nodes, and the way to the operations of a member. There is always a Node; outside a mesh it has no thread, port or
// file.
//
// The mesh runs on its own loop and thread; requests for local models never wait for it. Every method may be called on
// any loop.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/loop.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/mutex.h"
#include "fleet/allotment/allotter.h"
#include "fleet/announce/own_node_state.h"
#include "fleet/base/node_options.h"
#include "fleet/copies/copy_manager.h"
#include "fleet/hosting/group_config.h"
#include "fleet/membership/doctor.h"
#include "fleet/membership/membership.h"
#include "fleet/membership/start_record.h"
#include "fleet/membership/static_bootstrap.h"
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

class MemberRuntime;

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

  MeshViewPtr view() const {
    const MutexLock lock(view_mutex_);
    return view_;
  }
  // Whether the folder says that this node is a member of any mesh. Reads one file.
  bool is_member() const { return has_membership(options_); }
  // Called on the loop of the mesh with each new view; one listener, set before start().
  void on_change(std::function<void(MeshViewPtr)> changed) { changed_ = std::move(changed); }
  // Creates the discovery agent if the options set a port for it; set before start(). None: there is no discovery.
  void use_hints(MakeHints make) { make_hints_ = std::move(make); }
  // Storage of copied models; set before start(). None: no copies to or from this node.
  void use_copies(CopyStorage storage) { copies_ = std::move(storage); }
  // Loads and unloads models for the mesh; set before start(), outlives stop(). None: only requests load models.
  void use_allotment(AllotConfig config) { allotment_ = config; }
  // What this machine provides for groups; set before start(). None: models aren't split here.
  void use_groups(GroupConfig config) { groups_ = std::move(config); }
  // Called on the loop of the mesh: with the peers when this node becomes a member, and with nullptr before they are
  // destroyed. One listener, set before start().
  void on_peers(std::function<void(mesh::Peers*)> changed) { peers_changed_ = std::move(changed); }
  // Sets the known state of this machine. On any loop; ignored outside a mesh.
  void set_facts(MachineFacts facts);
  // The mesh's loop; runs from the first start(), create() or join() that needs it.
  async::Loop& loop() { return loop_; }

  // Founds a mesh of one node. Errors: in_a_mesh, change_runs; unusable_identity, and the system's own.
  async::Task<Result<MeshViewPtr>> create();
  // Joins a mesh. Errors: in_a_mesh, change_runs; all of mesh::join_mesh, with the step that failed.
  async::Task<Result<MeshViewPtr>> join(mesh::JoinToken token, OnJoinProgress progress);
  // Announces that this node leaves, and removes the mesh's files. Errors: no_mesh, change_runs.
  async::Task<Result<>> leave();

  // Finds problems of this node's mesh. Asks peers, and takes some seconds if they don't answer.
  async::Task<std::vector<Finding>> doctor();

  // Runs an operation of the member on the loop of the mesh. Its caller sees its own change in view(). For callers that
  // include member_runtime.h. Errors: no_mesh, and the operation's own.
  template <typename T, typename... Parameters>
  async::Task<Result<T>> ask(async::Task<Result<T>> (MemberRuntime::*operation)(Parameters...),
                             std::type_identity_t<Parameters>... arguments) {
    if (!runs()) co_return std::unexpected(no_mesh());
    auto asking = ask_member(operation, std::move(arguments)...);
    auto across = async::run_on(loop_.executor(), std::move(asking));
    co_return co_await std::move(across);
  }

 private:
  // Only one create, join or leave runs at a time.
  class Change {
   public:
    explicit Change(Node& node) : node_(node), alone_(!node.changing_) { node_.changing_ = true; }
    ~Change() {
      if (alone_) node_.changing_ = false;
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    bool alone() const { return alone_; }

   private:
    Node& node_;
    const bool alone_;
  };

  // Shows the phase `joining` as long as it exists.
  class Joining {
   public:
    explicit Joining(Node& node) : node_(node) { node_.set_phase(MeshPhase::joining); }
    ~Joining() {
      if (node_.phase_ == MeshPhase::joining) node_.set_phase(MeshPhase::none);
    }
    Joining(const Joining&) = delete;
    Joining& operator=(const Joining&) = delete;

   private:
    Node& node_;
  };

  static Error no_mesh();
  static Error busy();
  static Millis limit_of(mesh::JoinStep step, const mesh::JoinOptions& options);

  // On any loop. Starts the thread if it doesn't run. Errors: stopping.
  Result<> run();
  bool runs() const;

  // Everything below is for the loop of the mesh, or for a time at which it doesn't run.
  template <typename T, typename... Parameters>
  async::Task<Result<T>> ask_member(async::Task<Result<T>> (MemberRuntime::*operation)(Parameters...),
                                    Parameters... arguments) {
    if (!runtime_) co_return std::unexpected(no_mesh());
    auto asking = ((*runtime_).*operation)(std::move(arguments)...);
    auto done = co_await std::move(asking);
    if (runtime_) publish();
    co_return done;
  }
  // This node resumes or enters a mesh, of which nothing is known yet.
  void expect_mesh();
  async::Task<Result<MeshViewPtr>> found_mesh();
  async::Task<Result<MeshViewPtr>> enter_with(mesh::JoinToken token, OnJoinProgress progress);
  // Continues if its caller is cancelled: half a leave would be worse than all of it.
  async::Task<Result<>> leave_mesh();
  async::Task<void> leave_now(std::shared_ptr<async::Event> done);
  async::Task<std::vector<Finding>> find_problems();
  void restore();
  void apply(NodeOptions options);
  async::Task<void> end();

  Result<> may_begin(const Change& change) const;
  // The given options; of a member also what an earlier start with --join made of it.
  NodeOptions resumed() const { return record_ && !given_.joins ? with_record(given_, *record_) : given_; }
  void keep_start_if_joined();
  Result<> begin(mesh::SigningKey key, mesh::MemberSet members, const std::vector<mesh::Address>& seeds);
  void enter(Membership membership, const std::vector<mesh::Address>& seeds);
  // Asks the nodes that the settings name until this node is a member, in whatever way. A user's command has priority
  // meanwhile: only the last step of this task counts as a change.
  async::Task<void> meet();
  void enter_met(std::optional<mesh::MemberSet> joined);
  void report_bootstrap_problem(std::string problem);
  void set_phase(MeshPhase phase) {
    phase_ = phase;
    publish();
  }
  void publish();
  // Changes come in bursts. The first one of a burst is published at once, the rest together.
  void publish_soon() {
    if (std::exchange(publishing_, true)) return;
    tasks_.spawn("mesh: view", publish_later());
  }
  async::Task<void> publish_later();

  async::Loop loop_;
  std::function<void(MeshViewPtr)> changed_;
  std::function<void(mesh::Peers*)> peers_changed_;
  MakeHints make_hints_;
  CopyStorage copies_;
  AllotConfig allotment_;
  GroupConfig groups_;
  mutable Mutex thread_mutex_;
  std::jthread thread_ GUARDED_BY(thread_mutex_);  // none: nothing was started
  bool stopped_ GUARDED_BY(thread_mutex_) = false;

  async::Timers& timers_;
  NodeOptions given_;                  // as the settings are
  std::optional<StartRecord> record_;  // of this membership; read once, as the disk may hang
  NodeOptions options_;                // resumed()
  MeshPhase phase_ = MeshPhase::none;
  std::string problem_;
  bool changing_ = false;
  bool publishing_ = false;
  MonoTime last_publish_{};
  std::unique_ptr<MemberRuntime> runtime_;  // while it is a member
  std::optional<mesh::NodeId> self_;        // outside a mesh
  std::unique_ptr<StaticBootstrap> bootstrap_;
  std::shared_ptr<const mesh::Catalog> expected_;  // until it is a member
  bool looks_ = false;                             // for the nodes that the settings name, until this node is a member
  async::TaskGroup tasks_;
  async::TaskGroup leaving_;  // ends without cancellation

  mutable Mutex view_mutex_;
  MeshViewPtr view_ GUARDED_BY(view_mutex_);
};

}  // namespace corral::fleet
