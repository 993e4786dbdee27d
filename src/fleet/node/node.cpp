// Methods for any loop: each hops to the loop of the mesh, and waits there.
#include "fleet/node/node.h"

#include "fleet/base/errors.h"
#include "fleet/node/member_runtime.h"

namespace corral::fleet {
namespace {

using async::Task;

template <typename T>
Task<Result<T>> refuse(Error why) {
  co_return std::unexpected(std::move(why));
}

}  // namespace

Node::Node(async::Timers& timers, NodeOptions options)
    : timers_(timers),
      given_(std::move(options)),
      record_(has_membership(given_) ? read_start(given_.folder) : std::nullopt),
      options_(resumed()),
      tasks_(loop_.executor()),
      leaving_(loop_.executor()) {
  publish();
}

Node::~Node() {
  loop_.stop();
  if (thread_.joinable()) thread_.join();
  // Cancelled tasks unwind while everything that they refer to still exists.
  loop_.context().restart();
  loop_.context().poll();
}

Error Node::no_mesh() {
  return {make_error_code(errc::no_mesh),
          "this node is in no mesh: found one with corral mesh create, or join one with corral mesh join TOKEN"};
}

Result<> Node::run() {
  const MutexLock lock(thread_mutex_);
  if (stopped_) return fail(errc::stopping, "the server is shutting down");
  if (!thread_.joinable()) thread_ = std::jthread([this] { loop_.run(); });
  return {};
}

bool Node::runs() const {
  const MutexLock lock(thread_mutex_);
  return !stopped_ && thread_.joinable();
}

void Node::start() {
  const bool member = is_member();
  if (!member && options_.peers.empty()) return;
  expect_mesh();
  if (!run()) return;
  loop_.post([this, member] {
    if (member) return restore();
    tasks_.spawn("mesh: look for named nodes", meet());
  });
}

void Node::wind_down(Millis within) {
  if (!runs()) return;
  loop_.post([this, within] {
    if (runtime_) runtime_->wind_down(within);
  });
}

Task<void> Node::stop(std::optional<Task<void>> last) {
  const bool ran = runs();
  {
    const MutexLock lock(thread_mutex_);
    stopped_ = true;
  }
  if (ran) {
    auto ending = end();
    co_await async::run_on(loop_.executor(), std::move(ending));
    if (last) co_await async::run_on(loop_.executor(), std::move(*last));
  }
  loop_.stop();
  // Fast, since no task on that loop takes long. After this the thread makes no more callbacks.
  std::jthread thread;
  {
    const MutexLock lock(thread_mutex_);
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

void Node::change(NodeOptions options) {
  // The lock prevents a start of the thread meanwhile.
  const MutexLock lock(thread_mutex_);
  if (stopped_) return;
  if (thread_.joinable()) {
    loop_.post([this, options = std::move(options)]() mutable { apply(std::move(options)); });
  } else {
    apply(std::move(options));
  }
}

void Node::set_facts(MachineFacts facts) {
  if (!runs()) return;
  loop_.post([this, facts = std::move(facts)]() mutable {
    if (runtime_) runtime_->set_facts(std::move(facts));
  });
}

Task<Result<MeshViewPtr>> Node::create() {
  if (auto running = run(); !running) return refuse<MeshViewPtr>(std::move(running.error()));
  return async::run_on(loop_.executor(), found_mesh());
}

Task<Result<MeshViewPtr>> Node::join(mesh::JoinToken token, OnJoinProgress progress) {
  if (auto running = run(); !running) return refuse<MeshViewPtr>(std::move(running.error()));
  return async::run_on(loop_.executor(), enter_with(std::move(token), std::move(progress)));
}

Task<Result<>> Node::leave() {
  if (!runs()) return refuse<void>(no_mesh());
  return async::run_on(loop_.executor(), leave_mesh());
}

Task<std::vector<Finding>> Node::doctor() {
  if (!runs()) co_return examine(*view(), NodeOptions(), Examination());
  auto looking = find_problems();
  co_return co_await async::run_on(loop_.executor(), std::move(looking));
}

}  // namespace corral::fleet
