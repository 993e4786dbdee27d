// Workers for plans that other nodes host.
#include <exception>

#include <fmt/format.h>

#include "base/log.h"
#include "fleet/base/errors.h"
#include "fleet/hosting/router_group_parts.h"
#include "mesh/allocation/split_plan.h"
#include "router/base/failure.h"

namespace corral::fleet {

using async::Task;

namespace {

// A worker process starts in a tenth of a second. The connecting host waits 15 s at most.
constexpr Millis kStart{8'000};
constexpr Millis kOthersLoad{5'000};  // time to wait for another peer load
constexpr Millis kFolder{2'000};      // on a slower disk weights aren't cached
constexpr Millis kLookAfter{3'000};   // interval for trimming its folder of weights
// A node grants its memory to one host at a time; the others are ending.
constexpr std::size_t kMaxWorkers = 4;

}  // namespace

void RouterGroupProcesses::open(WorkerOrder order) {
  const WorkerKey key(order.host, order.of);
  if (workers_.contains(key)) return;
  const auto worker = std::make_shared<Worker>(parts_.home.executor(), std::move(order), ear_);
  if (workers_.size() >= kMaxWorkers)
    return failed(worker, Error(make_error_code(errc::split_failed), "too many workers are still ending on this node"));
  workers_.emplace(key, worker);
  worker->tasks.spawn("worker of a group", live(worker));
}

Task<void> RouterGroupProcesses::live(WorkerPtr worker) {
  co_await async::asio::post(async::use_task);
  Error why(make_error_code(errc::split_failed), "");
  std::exception_ptr failure;
  try {
    auto beginning = begin(worker);
    auto lease = co_await std::move(beginning);
    if (lease) {
      const WorkerOrder& order = worker->order;
      report(worker->ear,
             [host = order.host, of = order.of, socket = worker->made.socket,
              llama = worker->made.llama()](GroupReports& reports) { reports.worker_ready(host, of, socket, llama); });
      auto gone = lease->wait_for_exit();
      const auto ending = co_await std::move(gone);
      why.message = !worker->ended_for.empty() ? worker->ended_for
                    : ending.intentional       ? "the owner of the node has recalled the memory"
                                               : fmt::format("the worker ended: {}", ending.how);
    } else {
      why = std::move(lease.error());
    }
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure && router::is_cancellation(failure)) std::rethrow_exception(failure);
  if (failure) why.message = router::words_of(failure);
  failed(worker, std::move(why));
}

Task<Result<router::Lease>> RouterGroupProcesses::begin(WorkerPtr worker) {
  const WorkerOrder& order = worker->order;
  const auto until = parts_.timers.now() + kOthersLoad;
  if (order.bytes == 0 || order.bytes > mesh::kMaxPlannedBytes)
    co_return fail(errc::split_failed, fmt::format("invalid share of {} bytes", order.bytes));
  if (!order.llama.empty() && order.llama != parts_.llama) {
    co_return fail(errc::split_failed,
                   fmt::format("the host has llama.cpp {}, this node {}: a split needs the same version", order.llama,
                               parts_.llama));
  }
  const auto workers = workers_;
  for (const auto& [key, other] : workers) {
    if (other != worker && other->reaping) co_await other->done.wait();
  }
  std::optional<WeightFolder> folder;
  if (parts_.caches != nullptr) {
    auto opening = parts_.caches->open(order.host, order.bytes);
    auto opened = co_await async::with_timeout(parts_.timers, kFolder, std::move(opening));
    if (opened) folder = std::move(*opened);
  }
  backends::ShareOrder share{.number = ++last_share_,
                             .bytes = order.bytes,
                             .cache = folder ? folder->path : std::filesystem::path(),
                             .cache_bytes = folder ? folder->max_bytes : 0,
                             .llama = order.llama};
  worker->made = parts_.worker(std::move(share));
  auto recalled = [weak = std::weak_ptr(worker)] {
    const auto known = weak.lock();
    if (!known || known->reaping || std::exchange(known->recalled, true)) return;
    report(known->ear,
           [host = known->order.host, of = known->order.of](GroupReports& reports) { reports.recalled(host, of); });
  };
  router::GroupLoad load{.model = backends::share_model(mesh::short_text(order.host), order.bytes),
                         .backend = worker->made.backend,
                         .deadline = kStart,
                         .share = router::ShareOf{order.host_name, order.model_name},
                         .recalled = std::move(recalled)};
  auto acquiring = acquire(std::move(load), until);
  auto lease = co_await std::move(acquiring);
  if (lease && folder) worker->tasks.spawn("weights of a worker", look_after(worker, std::move(*folder)));
  co_return lease;
}

Task<void> RouterGroupProcesses::look_after(WorkerPtr worker, WeightFolder folder) {
  while (true) {
    auto pause = parts_.timers.sleep_for(kLookAfter);
    co_await std::move(pause);
    auto looking = parts_.caches->look_after(folder);
    const bool fine = co_await std::move(looking);
    if (worker->over) co_return;
    if (fine) continue;
    worker->ended_for = "the disk of its weights is nearly full: free some space on it";
    auto ending = parts_.router.groups().end(worker->made.backend);
    co_return co_await std::move(ending);
  }
}

void RouterGroupProcesses::failed(const WorkerPtr& worker, Error why) {
  if (worker->reaping || std::exchange(worker->over, true)) return;
  const WorkerOrder& order = worker->order;
  log::warning("mesh", "the worker for '{}' of {} failed: {}", order.model_name, order.host_name, why.message);
  report(worker->ear, [host = order.host, of = order.of, why = std::move(why)](GroupReports& reports) {
    reports.worker_failed(host, of, why);
  });
  worker->tasks.cancel();
  const auto found = workers_.find({order.host, order.of});
  if (found != workers_.end() && found->second == worker) workers_.erase(found);
  worker->done.set();
}

void RouterGroupProcesses::reap(const WorkerKey& key) {
  const auto found = workers_.find(key);
  if (found == workers_.end()) {
    if (!ear_) return;
    return report(ear_, [key](GroupReports& reports) { reports.worker_reaped(key.first, key.second); });
  }
  if (std::exchange(found->second->reaping, true)) return;
  tasks_.spawn("reaping of a worker", reap_now(found->second));
}

Task<void> RouterGroupProcesses::reap_now(WorkerPtr worker) {
  co_await async::asio::post(async::use_task);
  worker->tasks.cancel();
  co_await worker->tasks.join();
  if (worker->made.backend) {
    auto ending = parts_.router.groups().end(worker->made.backend);
    co_await std::move(ending);
  }
  const WorkerOrder& order = worker->order;
  workers_.erase({order.host, order.of});
  worker->done.set();
  report(worker->ear, [host = order.host, of = order.of](GroupReports& reports) { reports.worker_reaped(host, of); });
}

}  // namespace corral::fleet
