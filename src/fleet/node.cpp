// Long because everything that a node can be asked is here twice: on the loop of the mesh, and for any other.
#include "fleet/node.h"

#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "async/event.h"
#include "async/task_group.h"
#include "base/log.h"
#include "fleet/errors.h"
#include "fleet/meeting.h"
#include "fleet/membership.h"
#include "fleet/presence.h"
#include "mesh/identity/errors.h"
#include "mesh/net/tls/tls_network.h"

namespace corral::fleet {

using async::Task;

class Node::Impl {
 public:
  Impl(async::Timers& timers, NodeOptions options)
      : timers_(timers), options_(std::move(options)), tasks_(loop.executor()), leaving_(loop.executor()) {
    publish();
  }

  bool names_peers() const { return !options_.peers.empty(); }
  // Before the loop runs: this node comes (back) into a mesh, of which nothing is known yet.
  void expect_mesh() {
    mesh::KnownNode others;
    others.expected_until = timers_.now() + kFirstWords;
    expected_ = mesh::make_catalog({std::move(others)});
    auto made = std::make_shared<MeshView>(*view_);
    made->catalog = expected_;
    view_ = std::move(made);
  }

  // On any thread.
  MeshViewPtr view() const {
    const std::scoped_lock lock(view_mutex_);
    return view_;
  }

  static Error no_mesh() {
    return {make_error_code(errc::no_mesh),
            "this node is in no mesh: found one with corral mesh create, or join one with corral mesh join TOKEN"};
  }
  bool is_member_on_disk() const { return has_membership(options_); }

  // All of these on the loop.
  Task<Result<MeshViewPtr>> create() {
    const Change change(*this);
    if (auto may = may_begin(change); !may) co_return std::unexpected(may.error());
    if (meeting_) meeting_->cut();
    auto key = own_key(options_);
    if (!key) co_return std::unexpected(key.error());
    const mesh::MemberSet members(mesh::found_mesh(key->public_key()));
    auto begun = begin(std::move(*key), members, {});
    if (!begun) co_return std::unexpected(begun.error());
    log::info("mesh", "this node has founded the mesh {}", mesh::short_text(members.mesh()));
    co_return view();
  }

  Task<Result<MeshViewPtr>> join(mesh::Token token, OnJoinProgress progress) {
    const Change change(*this);
    if (auto may = may_begin(change); !may) co_return std::unexpected(may.error());
    if (meeting_) meeting_->cut();
    auto key = own_key(options_);
    if (!key) co_return std::unexpected(key.error());
    const Joining joining(*this);
    mesh::TlsNetwork network(loop.executor(), *key, timers_);
    mesh::JoinOptions join_options;
    join_options.on_step = [&](mesh::JoinStep step, const mesh::Address& address) {
      if (progress) progress({step, address, limit_of(step, join_options)});
    };
    const auto seeds = token.seeds;
    auto members = co_await mesh::join_mesh(network, timers_, *key, std::move(token), join_options);
    if (!members) co_return std::unexpected(members.error());
    const auto mesh = members->mesh();
    auto begun = begin(std::move(*key), std::move(*members), seeds);
    if (!begun) co_return std::unexpected(begun.error());
    log::info("mesh", "this node has joined the mesh {}", mesh::short_text(mesh));
    co_return view();
  }

  // Goes on when nobody waits for it any more: half of it would be worse than all.
  Task<Result<>> leave() {
    if (changing_) co_return std::unexpected(busy());
    if (!presence_ && phase_ != MeshPhase::broken && !has_membership(options_)) co_return std::unexpected(no_mesh());
    const auto done = std::make_shared<async::Event>(loop.executor());
    leaving_.spawn("mesh: leave", leave_now(done));
    co_await done->wait();
    co_return Result<>();
  }
  Task<void> leave_now(std::shared_ptr<async::Event> done) {
    const Change change(*this);
    const bool keeps_key = presence_ && !options_.identity.empty();
    if (presence_) {
      if (peers_changed) peers_changed(nullptr);
      auto gone = std::move(presence_);
      set_phase(MeshPhase::none);
      co_await gone->leave();
      co_await gone->stop();
    }
    forget_membership(options_);
    self_.reset();
    problem_.clear();
    if (keeps_key) {
      problem_ = fmt::format(
          "the mesh that this node has left takes its key, {}, never again: before it comes back, "
          "it needs a new one there",
          options_.identity.native());
    }
    set_phase(MeshPhase::none);
    log::info("mesh", "this node has left its mesh");
    done->set();
  }

  Task<Result<Invitation>> invite(std::chrono::seconds lifetime) {
    if (!presence_) co_return std::unexpected(no_mesh());
    auto made = presence_->invite(lifetime);
    publish();  // whoever has done something sees it done
    co_return made;
  }
  Task<Result<std::vector<mesh::IssuedToken>>> tokens() {
    if (!presence_) co_return std::unexpected(no_mesh());
    co_return presence_->tokens();
  }
  Task<Result<>> withdraw(std::string digits) {
    if (!presence_) co_return std::unexpected(no_mesh());
    auto withdrawn = presence_->withdraw(digits);
    publish();
    co_return withdrawn;
  }
  Task<Result<mesh::NodeId>> revoke(std::string node, bool all) {
    if (!presence_) co_return std::unexpected(no_mesh());
    const auto now = view();
    const auto found = find_node(*now, node);
    if (!found) co_return std::unexpected(found.error());
    auto revoked = presence_->revoke((*found)->id, all);
    publish();
    co_return revoked;
  }

  Task<Result<CopyView>> copy(std::string model) {
    if (!presence_) co_return std::unexpected(no_mesh());
    auto ordered = presence_->copy(model);
    publish();
    co_return ordered;
  }
  Task<Result<CopyView>> copy_to(std::string node, std::string model) {
    if (!presence_) co_return std::unexpected(no_mesh());
    const auto now = view();
    const auto found = find_node(*now, node);
    if (!found) co_return std::unexpected(found.error());
    if ((*found)->reach == mesh::Reach::own) co_return co_await copy(std::move(model));
    const auto reply = presence_->copy_at((*found)->id, model);
    if (!reply) co_return std::unexpected(reply.error());
    co_return co_await answer_of(*reply);
  }
  Task<Result<CopyView>> copy_state(mesh::NodeId node, Sha256 content) {
    if (!presence_) co_return std::unexpected(no_mesh());
    auto reply = presence_->copy_state_at(node, content);
    co_return co_await answer_of(std::move(reply));
  }
  static Task<Result<CopyView>> answer_of(std::shared_ptr<Presence::CopyReply> reply) {
    co_await reply->done.wait();
    if (!reply->result) co_return std::unexpected(no_mesh());
    co_return *reply->result;
  }
  std::optional<Error> bring(const mesh::Catalog& catalog, const mesh::MeshModel& model,
                             std::span<const mesh::NodeId> to) {
    return presence_ ? presence_->bring(catalog, model, to) : std::nullopt;
  }
  Task<Result<>> cancel_copy(std::string model) {
    if (!presence_) co_return std::unexpected(no_mesh());
    auto cancelled = presence_->cancel_copy(model);
    publish();
    co_return cancelled;
  }

  Task<std::vector<Finding>> doctor() {
    // A mesh that is left meanwhile takes its peers with it.
    const Change change(*this);
    Examination found;
    if (presence_ && change.alone()) found = co_await presence_->examine();
    co_return examine(*view(), options_, found);
  }

  void restore() {
    if (presence_ || !has_membership(options_)) return;
    auto membership = open_membership(options_);
    if (!membership) {
      problem_ = membership.error().message;
      log::error("mesh", "this node isn't in its mesh: {}", problem_);
      expected_.reset();
      set_phase(MeshPhase::broken);
      return;
    }
    enter(std::move(*membership), {});
  }
  void begin_meeting() { tasks_.spawn("mesh: look for named nodes", meet()); }

  void change(NodeOptions options) {
    // What is listened on, and who this is, stay for this life.
    options.folder = options_.folder;
    options.listen = options_.listen;
    options.identity = options_.identity;
    options.peers = options_.peers;
    options_ = std::move(options);
    if (presence_) presence_->change(options_);
    publish();
  }
  Task<void> stop() {
    co_await leaving_.join();
    if (presence_ && peers_changed) peers_changed(nullptr);
    if (presence_) co_await presence_->stop();
    tasks_.cancel();
    co_await tasks_.join();
    if (meeting_) co_await meeting_->stop();
    presence_.reset();
    publishing_ = true;  // no more of it
  }

  void tell(MachineFacts facts) {
    if (presence_) presence_->tell(std::move(facts));
  }

  async::Loop loop;
  std::function<void(MeshViewPtr)> changed;
  std::function<void(mesh::Peers*)> peers_changed;
  MakeHints make_hints;
  CopyPlace copies;
  std::mutex thread_mutex;
  std::jthread thread;  // none: nothing was started
  bool stopped = false;

 private:
  // Of create, join and leave one runs at a time.
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

  // Shown while it lasts, however it ends.
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
  static Millis limit_of(mesh::JoinStep step, const mesh::JoinOptions& options) {
    const mesh::TlsOptions tls;
    switch (step) {
      case mesh::JoinStep::dial:
      case mesh::JoinStep::handshake:
        return tls.dial + tls.handshake;
      case mesh::JoinStep::proof:
        return options.proof;
      case mesh::JoinStep::admit:
        return options.admit;
      case mesh::JoinStep::members:
        return options.members;
    }
    return {};
  }

  Result<> may_begin(const Change& change) const {
    if (!change.alone()) return std::unexpected(busy());
    if (!presence_ && !has_membership(options_)) return {};
    return fail(errc::in_a_mesh, "this node is in a mesh already; leave it first with corral mesh leave");
  }
  Result<> begin(mesh::SigningKey key, mesh::MemberSet members, const std::vector<mesh::Address>& seeds) {
    auto membership = begin_membership(options_, std::move(key), std::move(members));
    if (!membership) return std::unexpected(membership.error());
    enter(std::move(*membership), seeds);
    return {};
  }
  void enter(Membership membership, const std::vector<mesh::Address>& seeds) {
    looks_ = false;
    problem_.clear();
    expected_.reset();
    presence_ = std::make_unique<Presence>(
        loop.executor(), timers_, options_, std::move(membership), seeds, [this] { publish_soon(); }, make_hints,
        copies);
    if (peers_changed) peers_changed(&presence_->peers());
    presence_->start();
    set_phase(MeshPhase::member);
  }
  // Asks those that the settings name until this node is a member, by whatever way it becomes one. What a person asks
  // for meanwhile goes before: only the last step is a change.
  Task<void> meet() {
    auto key = own_key(options_);
    if (!key) co_return tell_of_meeting(key.error().message);
    self_ = key->id();
    meeting_ = std::make_unique<Meeting>(loop.executor(), timers_, std::move(*key), options_.peers);
    looks_ = true;
    set_phase(MeshPhase::joining);
    const auto next = [this] {
      if (!looks_) return Meeting::Next::end;
      // Two meshes that let it in at once would be one too many.
      return changing_ ? Meeting::Next::wait : Meeting::Next::ask;
    };
    auto looking = meeting_->run(next, [this](auto joined) { enter_met(std::move(joined)); });
    co_await std::move(looking);
    meeting_.reset();
    publish();
  }
  void enter_met(std::optional<mesh::MemberSet> joined) {
    const Change change(*this);
    if (!looks_ || !may_begin(change)) return;
    if (phase_ == MeshPhase::none) set_phase(MeshPhase::joining);
    const bool founds = !joined && options_.may_found && meeting_->founds();
    if (founds) joined.emplace(configured_founding(meeting_->key().public_key()));
    if (!joined) return tell_of_meeting(meeting_->problem());
    if (auto begun = begin(meeting_->key(), *joined, {}); !begun) return tell_of_meeting(begun.error().message);
    log::info("mesh", "this node has {} the mesh {}, with those that its settings name", founds ? "founded" : "joined",
              mesh::short_text(joined->mesh()));
  }
  void tell_of_meeting(std::string problem) {
    if (problem == problem_) return;
    problem_ = std::move(problem);
    log::warning("mesh", "{}", problem_);
    publish();
  }
  void set_phase(MeshPhase phase) {
    phase_ = phase;
    publish();
  }
  void publish() {
    auto made = std::make_shared<MeshView>();
    made->phase = phase_;
    made->problem = problem_;
    made->name = options_.name;
    made->role = options_.role;
    if (self_) made->self = *self_;
    made->catalog = expected_;
    if (meeting_ && !presence_) made->unmet = meeting_->unmet();
    if (presence_) {
      if (presence_->is_revoked()) made->phase = MeshPhase::revoked;
      presence_->describe(*made);
    }
    MeshViewPtr view = std::move(made);
    {
      const std::scoped_lock lock(view_mutex_);
      view_ = view;
    }
    if (changed) changed(std::move(view));
  }
  // Changes come in showers; one view for all of a moment is enough, and the first of a shower is told at once.
  void publish_soon() {
    if (std::exchange(publishing_, true)) return;
    tasks_.spawn("mesh: view", publish_later());
  }
  Task<void> publish_later() {
    const auto next = last_publish_ + kBetweenViews;
    if (next > timers_.now()) {
      co_await timers_.sleep_until(next);
    } else {
      co_await async::asio::post(loop.executor(), async::use_task);
    }
    publishing_ = false;
    last_publish_ = timers_.now();
    publish();
  }

  static constexpr Millis kBetweenViews{50};
  static constexpr Millis kFirstWords{10'000};  // as long as gossip waits for them

  async::Timers& timers_;
  NodeOptions options_;
  MeshPhase phase_ = MeshPhase::none;
  std::string problem_;
  bool changing_ = false;
  bool publishing_ = false;
  MonoTime last_publish_{};
  std::unique_ptr<Presence> presence_;  // while it is a member
  std::optional<mesh::NodeId> self_;    // where there is no mesh yet
  std::unique_ptr<Meeting> meeting_;
  std::shared_ptr<const mesh::Catalog> expected_;  // until it is a member
  bool looks_ = false;                             // for those that the settings name, until it is a member
  async::TaskGroup tasks_;
  async::TaskGroup leaving_;  // ends by itself

  mutable std::mutex view_mutex_;
  MeshViewPtr view_;
};

Node::Node(async::Timers& timers, NodeOptions options) : impl_(std::make_unique<Impl>(timers, std::move(options))) {}

Node::~Node() {
  impl_->loop.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
  // What was cancelled at the end unwinds while all that it refers to is still there.
  impl_->loop.context().restart();
  impl_->loop.context().poll();
}

Result<> Node::run() {
  const std::scoped_lock lock(impl_->thread_mutex);
  if (impl_->stopped) return fail(errc::stopping, "the server shuts down");
  if (!impl_->thread.joinable()) impl_->thread = std::jthread([this] { impl_->loop.run(); });
  return {};
}

bool Node::runs() const {
  const std::scoped_lock lock(impl_->thread_mutex);
  return impl_->thread.joinable() && !impl_->stopped;
}

void Node::start() {
  const bool member = impl_->is_member_on_disk();
  if (!member && !impl_->names_peers()) return;
  impl_->expect_mesh();
  if (!run()) return;
  impl_->loop.post([this, member] { member ? impl_->restore() : impl_->begin_meeting(); });
}

Task<void> Node::stop(std::optional<Task<void>> last) {
  const bool ran = runs();
  {
    const std::scoped_lock lock(impl_->thread_mutex);
    impl_->stopped = true;
  }
  if (ran) {
    auto stopping = impl_->stop();
    co_await async::run_on(impl_->loop.executor(), std::move(stopping));
    if (last) co_await async::run_on(impl_->loop.executor(), std::move(*last));
  }
  impl_->loop.stop();
  // At once: nothing on that loop takes long. Whoever goes after this isn't called by it any more.
  if (impl_->thread.joinable()) impl_->thread.join();
}

void Node::change(NodeOptions options) {
  // While nobody runs the loop, nobody begins to.
  const std::scoped_lock lock(impl_->thread_mutex);
  if (impl_->thread.joinable()) {
    if (impl_->stopped) return;
    impl_->loop.post([this, options = std::move(options)]() mutable { impl_->change(std::move(options)); });
  } else {
    impl_->change(std::move(options));
  }
}

bool Node::is_member() const { return impl_->is_member_on_disk(); }
void Node::on_change(std::function<void(MeshViewPtr)> changed) { impl_->changed = std::move(changed); }

void Node::use_copies(CopyPlace place) { impl_->copies = std::move(place); }
void Node::use_hints(MakeHints make) { impl_->make_hints = std::move(make); }

void Node::on_peers(std::function<void(mesh::Peers*)> changed) { impl_->peers_changed = std::move(changed); }

void Node::tell(MachineFacts facts) {
  if (!runs()) return;
  impl_->loop.post([this, facts = std::move(facts)]() mutable { impl_->tell(std::move(facts)); });
}

MeshViewPtr Node::view() const { return impl_->view(); }
async::Loop& Node::loop() { return impl_->loop; }

Task<Result<MeshViewPtr>> Node::create() {
  if (auto running = run(); !running) co_return std::unexpected(running.error());
  co_return co_await async::run_on(impl_->loop.executor(), impl_->create());
}
Task<Result<MeshViewPtr>> Node::join(mesh::Token token, OnJoinProgress progress) {
  if (auto running = run(); !running) co_return std::unexpected(running.error());
  auto joining = impl_->join(std::move(token), std::move(progress));
  co_return co_await async::run_on(impl_->loop.executor(), std::move(joining));
}
Task<Result<>> Node::leave() {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  co_return co_await async::run_on(impl_->loop.executor(), impl_->leave());
}
Task<Result<Invitation>> Node::invite(std::chrono::seconds lifetime) {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  co_return co_await async::run_on(impl_->loop.executor(), impl_->invite(lifetime));
}
Task<Result<std::vector<mesh::IssuedToken>>> Node::tokens() {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  co_return co_await async::run_on(impl_->loop.executor(), impl_->tokens());
}
Task<Result<>> Node::withdraw(std::string digits) {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  auto withdrawing = impl_->withdraw(std::move(digits));
  co_return co_await async::run_on(impl_->loop.executor(), std::move(withdrawing));
}
Task<std::vector<Finding>> Node::doctor() {
  if (!runs()) co_return examine(*view(), NodeOptions(), Examination());
  co_return co_await async::run_on(impl_->loop.executor(), impl_->doctor());
}
Task<Result<mesh::NodeId>> Node::revoke(std::string node, bool all) {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  auto revoking = impl_->revoke(std::move(node), all);
  co_return co_await async::run_on(impl_->loop.executor(), std::move(revoking));
}

Task<Result<CopyView>> Node::copy(std::string model) {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  auto copying = impl_->copy(std::move(model));
  co_return co_await async::run_on(impl_->loop.executor(), std::move(copying));
}
Task<Result<CopyView>> Node::copy_to(std::string node, std::string model) {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  auto copying = impl_->copy_to(std::move(node), std::move(model));
  co_return co_await async::run_on(impl_->loop.executor(), std::move(copying));
}
Task<Result<CopyView>> Node::copy_state(mesh::NodeId node, Sha256 content) {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  auto telling = impl_->copy_state(node, content);
  co_return co_await async::run_on(impl_->loop.executor(), std::move(telling));
}
std::optional<Error> Node::bring(const mesh::Catalog& catalog, const mesh::MeshModel& model,
                                 std::span<const mesh::NodeId> to) {
  return impl_->bring(catalog, model, to);
}
Task<Result<>> Node::cancel_copy(std::string model) {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  auto cancelling = impl_->cancel_copy(std::move(model));
  co_return co_await async::run_on(impl_->loop.executor(), std::move(cancelling));
}

}  // namespace corral::fleet
