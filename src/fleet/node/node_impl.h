// Implementation of node.h on the loop of the mesh. Everything here is for that loop, unless stated otherwise.
#pragma once

#include <thread>

#include "async/event.h"
#include "async/task_group.h"
#include "base/mutex.h"
#include "fleet/base/errors.h"
#include "fleet/membership/membership.h"
#include "fleet/membership/start_record.h"
#include "fleet/membership/static_bootstrap.h"
#include "fleet/node/member_runtime.h"
#include "fleet/node/node.h"

namespace corral::fleet {

class Node::Impl {
 public:
  Impl(async::Timers& timers, NodeOptions options)
      : timers_(timers),
        given_(std::move(options)),
        record_(has_membership(given_) ? read_start(given_.folder) : std::nullopt),
        options_(resumed()),
        tasks_(loop.executor()),
        leaving_(loop.executor()) {
    publish();
  }

  bool names_peers() const { return !options_.peers.empty(); }
  // Before the loop runs: this node resumes or enters a mesh, of which nothing is known yet.
  void expect_mesh();

  // On any thread.
  MeshViewPtr view() const {
    const MutexLock lock(view_mutex_);
    return view_;
  }

  static Error no_mesh() {
    return {make_error_code(errc::no_mesh),
            "this node is in no mesh: found one with corral mesh create, or join one with corral mesh join TOKEN"};
  }
  bool is_member_on_disk() const { return has_membership(options_); }

  // All of these run on the loop.
  async::Task<Result<MeshViewPtr>> create();

  async::Task<Result<MeshViewPtr>> join(mesh::JoinToken token, OnJoinProgress progress);

  // Continues if its caller is cancelled: half a leave would be worse than all of it.
  async::Task<Result<>> leave();
  async::Task<void> leave_now(std::shared_ptr<async::Event> done);

  async::Task<Result<Invitation>> invite(std::chrono::seconds lifetime);
  async::Task<Result<std::vector<mesh::IssuedToken>>> tokens();
  async::Task<Result<>> withdraw(std::string digits);
  async::Task<Result<mesh::NodeId>> revoke(std::string node, bool all);

  async::Task<Result<CopyView>> copy(std::string model);
  async::Task<Result<>> cancel_copy(std::string model);

  async::Task<Result<std::string>> assign(std::string node, AllotCommand command, std::string model);
  async::Task<Result<Unloading>> unload(std::string model);
  async::Task<Result<>> may_unload(ModelName model) { co_return runtime_ ? runtime_->may_unload(model) : Result<>(); }
  async::Task<void> unloaded_here(std::vector<ModelName> models) {
    if (runtime_) runtime_->unloaded_here(models);
    co_return;
  }
  async::Task<Result<Split>> split(std::string model, std::vector<std::string> nodes);
  async::Task<Result<>> end_split(Split split);

  async::Task<std::vector<Finding>> doctor();

  void restore();
  void begin_meeting() { tasks_.spawn("mesh: look for named nodes", meet()); }

  void change(NodeOptions options);
  async::Task<void> stop();

  void wind_down(Millis within) {
    if (runtime_) runtime_->wind_down(within);
  }
  void tell(MachineFacts facts) {
    if (runtime_) runtime_->tell(std::move(facts));
  }

  async::Loop loop;
  std::function<void(MeshViewPtr)> changed;
  std::function<void(mesh::Peers*)> peers_changed;
  MakeHints make_hints;
  CopyStorage copies;
  AllotConfig allotment;
  GroupConfig groups;
  Mutex thread_mutex;
  std::jthread thread GUARDED_BY(thread_mutex);  // none: nothing was started
  bool stopped GUARDED_BY(thread_mutex) = false;

 private:
  // Only one create, join or leave runs at a time.
  class Change {
   public:
    explicit Change(Impl& node) : node_(node), alone_(!node.changing_) { node_.changing_ = true; }
    ~Change() {
      if (alone_) node_.changing_ = false;
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;
    bool alone() const { return alone_; }

   private:
    Impl& node_;
    const bool alone_;
  };

  // Shows the phase `joining` as long as it exists.
  class Joining {
   public:
    explicit Joining(Impl& node) : node_(node) { node_.set_phase(MeshPhase::joining); }
    ~Joining() {
      if (node_.phase_ == MeshPhase::joining) node_.set_phase(MeshPhase::none);
    }
    Joining(const Joining&) = delete;
    Joining& operator=(const Joining&) = delete;

   private:
    Impl& node_;
  };

  static Error busy() {
    return {make_error_code(errc::change_runs), "this node is just founding, joining or leaving a mesh"};
  }
  static Millis limit_of(mesh::JoinStep step, const mesh::JoinOptions& options);

  Result<> may_begin(const Change& change) const {
    if (!change.alone()) return std::unexpected(busy());
    if (!runtime_ && !has_membership(options_)) return {};
    return fail(errc::in_a_mesh, "this node is in a mesh already; leave it first with corral mesh leave");
  }
  // The given options; of a member also what an earlier start with --join made of it.
  NodeOptions resumed() const;
  void keep_start_if_joined();
  Result<> begin(mesh::SigningKey key, mesh::MemberSet members, const std::vector<mesh::Address>& seeds);
  void enter(Membership membership, const std::vector<mesh::Address>& seeds);
  // Asks the nodes that the settings name until this node is a member, in whatever way. A user's command has priority
  // meanwhile: only the last step of this task counts as a change.
  async::Task<void> meet();
  void enter_met(std::optional<mesh::MemberSet> joined);
  void tell_of_meeting(std::string problem);
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

  static constexpr Millis kBetweenViews{50};
  static constexpr Millis kFirstWords{10'000};  // as long as gossip waits for first announcements

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
