// Methods for any loop: each hops to the loop of the mesh, and waits there.
#include "fleet/node/node.h"

#include "async/on_loop.h"
#include "fleet/base/errors.h"
#include "fleet/node/node_impl.h"

namespace corral::fleet {
namespace {

using async::Task;

template <typename T>
Task<Result<T>> refuse(Error why) {
  co_return std::unexpected(std::move(why));
}

}  // namespace

Node::Node(async::Timers& timers, NodeOptions options) : impl_(std::make_unique<Impl>(timers, std::move(options))) {}

Node::~Node() {
  impl_->loop.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
  // Cancelled tasks unwind while everything that they refer to still exists.
  impl_->loop.context().restart();
  impl_->loop.context().poll();
}

Result<> Node::run() {
  const MutexLock lock(impl_->thread_mutex);
  if (impl_->stopped) return fail(errc::stopping, "the server is shutting down");
  if (!impl_->thread.joinable()) impl_->thread = std::jthread([this] { impl_->loop.run(); });
  return {};
}

bool Node::runs() const {
  const MutexLock lock(impl_->thread_mutex);
  return !impl_->stopped && impl_->thread.joinable();
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
    const MutexLock lock(impl_->thread_mutex);
    impl_->stopped = true;
  }
  if (ran) {
    auto stopping = impl_->stop();
    co_await async::run_on(impl_->loop.executor(), std::move(stopping));
    if (last) co_await async::run_on(impl_->loop.executor(), std::move(*last));
  }
  impl_->loop.stop();
  // Fast, since no task on that loop takes long. After this the thread makes no more callbacks.
  std::jthread thread;
  {
    const MutexLock lock(impl_->thread_mutex);
    thread = std::move(impl_->thread);
  }
  if (thread.joinable()) thread.join();
}

void Node::change(NodeOptions options) {
  // The lock prevents a start of the thread meanwhile.
  const MutexLock lock(impl_->thread_mutex);
  if (impl_->stopped) return;
  if (impl_->thread.joinable()) {
    impl_->loop.post([this, options = std::move(options)]() mutable { impl_->change(std::move(options)); });
  } else {
    impl_->change(std::move(options));
  }
}

bool Node::is_member() const { return impl_->is_member_on_disk(); }
void Node::on_change(std::function<void(MeshViewPtr)> changed) { impl_->changed = std::move(changed); }

void Node::use_copies(CopyStorage storage) { impl_->copies = std::move(storage); }
void Node::use_allotment(AllotConfig config) { impl_->allotment = config; }
void Node::use_groups(GroupConfig config) { impl_->groups = std::move(config); }
void Node::use_hints(MakeHints make) { impl_->make_hints = std::move(make); }

void Node::on_peers(std::function<void(mesh::Peers*)> changed) { impl_->peers_changed = std::move(changed); }

void Node::tell(MachineFacts facts) {
  if (!runs()) return;
  impl_->loop.post([this, facts = std::move(facts)]() mutable { impl_->tell(std::move(facts)); });
}

MeshViewPtr Node::view() const { return impl_->view(); }
async::Loop& Node::loop() { return impl_->loop; }

template <typename T, typename... Parameters>
Task<Result<T>> Node::ask(Task<Result<T>> (Impl::*method)(Parameters...),
                          std::type_identity_t<Parameters>... arguments) {
  if (!runs()) return refuse<T>(Impl::no_mesh());
  return async::OnLoop(*impl_, impl_->loop.executor()).call(method, std::move(arguments)...);
}

template <typename T, typename... Parameters>
Task<Result<T>> Node::begin(Task<Result<T>> (Impl::*method)(Parameters...),
                            std::type_identity_t<Parameters>... arguments) {
  if (auto running = run(); !running) return refuse<T>(std::move(running.error()));
  return async::OnLoop(*impl_, impl_->loop.executor()).call(method, std::move(arguments)...);
}

Task<Result<MeshViewPtr>> Node::create() { return begin(&Impl::create); }
Task<Result<MeshViewPtr>> Node::join(mesh::JoinToken token, OnJoinProgress progress) {
  return begin(&Impl::join, std::move(token), std::move(progress));
}
Task<Result<>> Node::leave() { return ask(&Impl::leave); }
Task<Result<Invitation>> Node::invite(std::chrono::seconds lifetime) { return ask(&Impl::invite, lifetime); }
Task<Result<std::vector<mesh::IssuedToken>>> Node::tokens() { return ask(&Impl::tokens); }
Task<Result<>> Node::withdraw(std::string digits) { return ask(&Impl::withdraw, std::move(digits)); }
Task<Result<mesh::NodeId>> Node::revoke(std::string node, bool all) { return ask(&Impl::revoke, std::move(node), all); }
Task<Result<CopyView>> Node::copy(std::string model) { return ask(&Impl::copy, std::move(model)); }
Task<Result<>> Node::cancel_copy(std::string model) { return ask(&Impl::cancel_copy, std::move(model)); }
Task<Result<std::string>> Node::assign(std::string node, AllotCommand command, std::string model) {
  return ask(&Impl::assign, std::move(node), command, std::move(model));
}
Task<Result<Node::Unloading>> Node::unload(std::string model) { return ask(&Impl::unload, std::move(model)); }
Task<Result<Node::Split>> Node::split(std::string model, std::vector<std::string> nodes) {
  return ask(&Impl::split, std::move(model), std::move(nodes));
}
Task<Result<>> Node::end_split(Split split) { return ask(&Impl::end_split, std::move(split)); }

Task<Result<>> Node::may_unload(ModelName model) {
  if (!runs()) co_return Result<>();
  auto asking = impl_->may_unload(std::move(model));
  co_return co_await async::run_on(impl_->loop.executor(), std::move(asking));
}

Task<void> Node::unloaded_here(std::vector<ModelName> models) {
  if (!runs()) co_return;
  auto telling = impl_->unloaded_here(std::move(models));
  co_await async::run_on(impl_->loop.executor(), std::move(telling));
}

Task<std::vector<Finding>> Node::doctor() {
  if (!runs()) co_return examine(*view(), NodeOptions(), Examination());
  co_return co_await async::run_on(impl_->loop.executor(), impl_->doctor());
}

}  // namespace corral::fleet
