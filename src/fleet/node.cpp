// What may be called on any loop: each goes to the loop of the mesh, and waits for it there.
#include "fleet/node.h"

#include "fleet/errors.h"
#include "fleet/node_impl.h"

namespace corral::fleet {

using async::Task;

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

void Node::wind_down(Millis within) {
  if (runs()) impl_->loop.post([this, within] { impl_->wind_down(within); });
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
void Node::use_hands(AllotPlace place) { impl_->hands = place; }
void Node::use_groups(GroupPlace place) { impl_->groups = std::move(place); }
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
Task<Result<>> Node::assign(std::string node, AllotWish wish, std::string model) {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  auto assigning = impl_->assign(std::move(node), wish, std::move(model));
  co_return co_await async::run_on(impl_->loop.executor(), std::move(assigning));
}
Task<Result<Node::Unloading>> Node::unload(std::string model) {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  auto unloading = impl_->unload(std::move(model));
  co_return co_await async::run_on(impl_->loop.executor(), std::move(unloading));
}
Task<void> Node::unloaded_here(std::vector<ModelName> models) {
  if (!runs()) co_return;
  auto telling = impl_->unloaded_here(std::move(models));
  co_await async::run_on(impl_->loop.executor(), std::move(telling));
}
Task<Result<Node::Split>> Node::split(std::string model, std::vector<std::string> nodes) {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  auto splitting = impl_->split(std::move(model), std::move(nodes));
  co_return co_await async::run_on(impl_->loop.executor(), std::move(splitting));
}
Task<Result<>> Node::end_split(Split split) {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  auto ending = impl_->end_split(split);
  co_return co_await async::run_on(impl_->loop.executor(), std::move(ending));
}
Task<Result<>> Node::cancel_copy(std::string model) {
  if (!runs()) co_return std::unexpected(Impl::no_mesh());
  auto cancelling = impl_->cancel_copy(std::move(model));
  co_return co_await async::run_on(impl_->loop.executor(), std::move(cancelling));
}

}  // namespace corral::fleet
