// How a node enters, resumes and leaves a mesh, and its view of this.
#include <fmt/format.h>

#include "base/log.h"
#include "fleet/base/errors.h"
#include "fleet/node/member_runtime.h"
#include "fleet/node/node.h"
#include "mesh/identity/errors.h"
#include "mesh/net/tls/tls_network.h"

namespace corral::fleet {

using async::Task;

namespace {

constexpr Millis kBetweenViews{50};
constexpr Millis kFirstStates{10'000};  // as long as gossip waits for first announcements

}  // namespace

void Node::expect_mesh() {
  mesh::KnownNode others;
  others.expected_until = timers_.now() + kFirstStates;
  expected_ = mesh::make_catalog({std::move(others)});
  auto made = std::make_shared<MeshView>(*view());
  made->catalog = expected_;
  const MutexLock lock(view_mutex_);
  view_ = std::move(made);
}

Error Node::busy() {
  return {make_error_code(errc::change_runs), "this node is just founding, joining or leaving a mesh"};
}

Result<> Node::may_begin(const Change& change) const {
  if (!change.alone()) return std::unexpected(busy());
  if (!runtime_ && !has_membership(options_)) return {};
  return fail(errc::in_a_mesh, "this node is in a mesh already; leave it first with corral mesh leave");
}

Task<Result<MeshViewPtr>> Node::found_mesh() {
  const Change change(*this);
  if (auto may = may_begin(change); !may) co_return std::unexpected(may.error());
  if (bootstrap_) bootstrap_->cut();
  auto key = own_key(options_);
  if (!key) co_return std::unexpected(key.error());
  const mesh::MemberSet members(mesh::found_mesh(key->public_key()));
  auto begun = begin(std::move(*key), members, {});
  if (!begun) co_return std::unexpected(begun.error());
  log::info("mesh", "founded mesh {}", mesh::short_text(members.mesh()));
  co_return view();
}

Task<Result<MeshViewPtr>> Node::enter_with(mesh::JoinToken token, OnJoinProgress progress) {
  const Change change(*this);
  if (auto may = may_begin(change); !may) co_return std::unexpected(may.error());
  if (bootstrap_) bootstrap_->cut();
  auto key = own_key(options_);
  if (!key) co_return std::unexpected(key.error());
  const Joining joining(*this);
  mesh::TlsNetwork network(loop_.executor(), *key, timers_);
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
  log::info("mesh", "joined mesh {}", mesh::short_text(mesh));
  co_return view();
}

Task<Result<>> Node::leave_mesh() {
  if (changing_) co_return std::unexpected(busy());
  if (!runtime_ && phase_ != MeshPhase::broken && !has_membership(options_)) co_return std::unexpected(no_mesh());
  const auto done = std::make_shared<async::Event>(loop_.executor());
  leaving_.spawn("mesh: leave", leave_now(done));
  co_await done->wait();
  co_return Result<>();
}

Task<void> Node::leave_now(std::shared_ptr<async::Event> done) {
  const Change change(*this);
  const bool keeps_key = runtime_ && !options_.identity.empty();
  if (runtime_) {
    if (peers_changed_) peers_changed_(nullptr);
    auto gone = std::move(runtime_);
    set_phase(MeshPhase::none);
    co_await gone->leave();
    co_await gone->stop();
  }
  forget_membership(options_);
  record_.reset();
  options_ = given_;
  self_.reset();
  problem_.clear();
  if (keeps_key) {
    problem_ =
        fmt::format("the mesh that this node has left never accepts its key {} again: to return, replace the key",
                    options_.identity.native());
  }
  set_phase(MeshPhase::none);
  log::info("mesh", "left the mesh");
  done->set();
}

Task<std::vector<Finding>> Node::find_problems() {
  // Leaving the mesh destroys its peers, so it must wait.
  const Change change(*this);
  Examination found;
  if (runtime_ && change.alone()) found = co_await runtime_->examine();
  co_return examine(*view(), options_, found);
}

void Node::restore() {
  if (runtime_ || !has_membership(options_)) return;
  auto membership = open_membership(options_);
  if (!membership) {
    problem_ = membership.error().message;
    log::error("mesh", "can't resume the mesh: {}", problem_);
    expected_.reset();
    set_phase(MeshPhase::broken);
    return;
  }
  enter(std::move(*membership), {});
}

void Node::keep_start_if_joined() {
  if (!given_.joins || !runtime_) return;
  auto record = record_of(given_);
  if (record_ != record) keep_start(given_.folder, record);
  record_ = std::move(record);
}

void Node::apply(NodeOptions options) {
  // The listen address and the identity are fixed until a restart.
  options.folder = options_.folder;
  options.listen = options_.listen;
  options.identity = options_.identity;
  options.peers = options_.peers;
  given_ = std::move(options);
  options_ = resumed();
  keep_start_if_joined();
  if (runtime_) runtime_->change(options_);
  publish();
}

Task<void> Node::end() {
  co_await leaving_.join();
  if (runtime_ && peers_changed_) peers_changed_(nullptr);
  if (runtime_) co_await runtime_->stop();
  tasks_.cancel();
  co_await tasks_.join();
  if (bootstrap_) co_await bootstrap_->stop();
  runtime_.reset();
  publishing_ = true;  // no more views
}

Millis Node::limit_of(mesh::JoinStep step, const mesh::JoinOptions& options) {
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

Result<> Node::begin(mesh::SigningKey key, mesh::MemberSet members, const std::vector<mesh::Address>& seeds) {
  auto membership = begin_membership(options_, std::move(key), std::move(members));
  if (!membership) return std::unexpected(membership.error());
  // Of a membership whose other files are lost.
  record_.reset();
  std::error_code ignored;
  std::filesystem::remove(options_.folder / kStartFile, ignored);
  enter(std::move(*membership), seeds);
  return {};
}

void Node::enter(Membership membership, const std::vector<mesh::Address>& seeds) {
  looks_ = false;
  problem_.clear();
  expected_.reset();
  runtime_ = std::make_unique<MemberRuntime>(
      loop_.executor(), timers_, options_, std::move(membership), seeds, [this] { publish_soon(); }, make_hints_,
      copies_, allotment_, groups_);
  if (peers_changed_) peers_changed_(&runtime_->peers());
  runtime_->start();
  keep_start_if_joined();
  set_phase(MeshPhase::member);
}

Task<void> Node::meet() {
  auto key = own_key(options_);
  if (!key) co_return report_bootstrap_problem(key.error().message);
  self_ = key->id();
  bootstrap_ = std::make_unique<StaticBootstrap>(loop_.executor(), timers_, std::move(*key), options_.peers);
  looks_ = true;
  set_phase(MeshPhase::joining);
  const auto next = [this] {
    if (!looks_) return StaticBootstrap::Next::end;
    // Joining two meshes at once must not happen.
    return changing_ ? StaticBootstrap::Next::wait : StaticBootstrap::Next::ask;
  };
  auto looking = bootstrap_->run(next, [this](auto joined) { enter_met(std::move(joined)); });
  co_await std::move(looking);
  bootstrap_.reset();
  publish();
}

void Node::enter_met(std::optional<mesh::MemberSet> joined) {
  const Change change(*this);
  if (!looks_ || !may_begin(change)) return;
  if (phase_ == MeshPhase::none) set_phase(MeshPhase::joining);
  const bool founds = !joined && options_.may_found && bootstrap_->founds();
  if (founds) joined.emplace(configured_founding(bootstrap_->key().public_key()));
  if (!joined) return report_bootstrap_problem(bootstrap_->problem());
  if (auto begun = begin(bootstrap_->key(), *joined, {}); !begun)
    return report_bootstrap_problem(begun.error().message);
  log::info("mesh", "{} mesh {} with the nodes of mesh_peers", founds ? "founded" : "joined",
            mesh::short_text(joined->mesh()));
}

void Node::report_bootstrap_problem(std::string problem) {
  if (problem == problem_) return;
  problem_ = std::move(problem);
  log::warning("mesh", "{}", problem_);
  publish();
}

void Node::publish() {
  auto made = std::make_shared<MeshView>();
  made->phase = phase_;
  made->problem = problem_;
  made->name = options_.name;
  made->role = options_.role;
  if (self_) made->self = *self_;
  made->catalog = expected_;
  if (bootstrap_ && !runtime_) made->unmet = bootstrap_->unmet();
  if (runtime_) {
    if (runtime_->is_revoked()) made->phase = MeshPhase::revoked;
    runtime_->describe(*made);
  }
  MeshViewPtr view = std::move(made);
  {
    const MutexLock lock(view_mutex_);
    view_ = view;
  }
  if (changed_) changed_(std::move(view));
}

Task<void> Node::publish_later() {
  const auto next = last_publish_ + kBetweenViews;
  if (next > timers_.now()) {
    co_await timers_.sleep_until(next);
  } else {
    co_await async::asio::post(loop_.executor(), async::use_task);
  }
  publishing_ = false;
  last_publish_ = timers_.now();
  publish();
}

}  // namespace corral::fleet
