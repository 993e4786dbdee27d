#include "fleet/hosting/router_group_processes.h"

#include <boost/asio/post.hpp>

#include "fleet/hosting/router_group_parts.h"
#include "residency/errors.h"

namespace corral::fleet {

using async::Task;

RouterGroupProcesses::RouterGroupProcesses(RouterGroupParts parts)
    : parts_(std::move(parts)), tasks_(parts_.home.executor()) {}

RouterGroupProcesses::~RouterGroupProcesses() = default;

void RouterGroupProcesses::listen(async::Executor mesh, GroupReports* reports) {
  if (receiver_) receiver_->reports = nullptr;
  receiver_ = reports == nullptr ? nullptr : std::make_shared<Ear>(Ear{mesh, reports});
  parts_.home.post([this, ear = receiver_] {
    end_all();
    ear_ = ear;
  });
}

void RouterGroupProcesses::report(const std::shared_ptr<Ear>& ear, std::move_only_function<void(GroupReports&)> words) {
  async::asio::post(ear->mesh, [ear, words = std::move(words)]() mutable {
    if (ear->reports != nullptr) words(*ear->reports);
  });
}

// Orders without a receiver of reports are ignored.
void RouterGroupProcesses::post(std::move_only_function<void()> work) {
  parts_.home.post([this, work = std::move(work)]() mutable {
    if (!stopping_ && ear_) work();
  });
}

void RouterGroupProcesses::start_engine(EngineOrder order) {
  post([this, order = std::move(order)]() mutable { start(std::move(order)); });
}
void RouterGroupProcesses::drain_engine(const mesh::ContentKey& model, mesh::PlanTerm of,
                                        std::optional<Millis> within) {
  post([this, model, of, within] { drain({model, of}, within); });
}
void RouterGroupProcesses::stop_engine(const mesh::ContentKey& model, mesh::PlanTerm of, std::string why) {
  post([this, model, of, why = std::move(why)]() mutable { stop(EngineKey(model, of), std::move(why)); });
}
void RouterGroupProcesses::open_worker(WorkerOrder order) {
  post([this, order = std::move(order)]() mutable { open(std::move(order)); });
}
void RouterGroupProcesses::reap_worker(const mesh::NodeId& host, mesh::PlanTerm of) {
  post([this, host, of] { reap({host, of}); });
}
void RouterGroupProcesses::hold(const std::string& name, bool held) {
  post([this, name, held] {
    if (held) {
      held_.insert(name);
    } else {
      held_.erase(name);
    }
    update_hold(name);
  });
}
void RouterGroupProcesses::members(std::vector<mesh::NodeId> all) {
  if (parts_.caches != nullptr) parts_.caches->members(std::move(all));
}

void RouterGroupProcesses::end_all() {
  const auto engines = engines_;
  for (const auto& [key, engine] : engines) stop(key);
  const auto workers = workers_;
  for (const auto& [key, worker] : workers) reap(key);
  for (const auto& name : std::exchange(held_, {})) update_hold(name);
}

Task<void> RouterGroupProcesses::stop() {
  stopping_ = true;
  end_all();
  co_await tasks_.join();
}

// Only one peer load runs at a time: waits for the other one, if nothing else prevents the load.
Task<Result<router::Lease>> RouterGroupProcesses::acquire(router::GroupLoad load, MonoTime until) {
  constexpr Millis kLook{250};
  while (true) {
    auto asking = parts_.router.groups().acquire(load);
    auto lease = co_await std::move(asking);
    const bool soon = !lease && lease.error().fact<residency::SoonHere>() != nullptr;
    if (!soon || parts_.timers.now() >= until) co_return lease;
    auto pause = parts_.timers.sleep_for(kLook);
    co_await std::move(pause);
  }
}

}  // namespace corral::fleet
