// The watchdog's loop: queries processes and kills hung ones.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "residency/elsewhere.h"
#include "router/instances/process_manager.h"

namespace corral::router {
namespace {

// Any response proves that the process works.
async::Task<bool> answers(http::Target& target) {
  constexpr std::uint64_t kLargestAnswer = 64 * 1024;
  const http::RequestHead head{"GET", "/health", {}};
  auto answer = co_await target.send(head, {});
  if (!answer) co_return false;
  const auto text = co_await answer->body.read_all(kLargestAnswer);
  co_return text.has_value();
}

}  // namespace

async::Task<void> ProcessManager::watch(std::weak_ptr<RunningInstance> watched) {
  MonoTime next = timers_.now();
  for (;;) {
    auto running = watched.lock();
    if (!running) co_return;
    const Millis pace = running->watchdog->pace();
    next = std::max(next + pace, timers_.now());
    running.reset();  // must not keep the process alive while it sleeps
    co_await timers_.sleep_until(next);
    running = watched.lock();
    if (!running || running->stopping) co_return;
    const auto instance = driver_.core().state().instances.find(running->id);
    const bool busy = instance != driver_.core().state().instances.end() && instance->second->leases > 0;
    const std::uint64_t work = running->loading ? running->server->work() : 0;
    const auto verdict = running->watchdog->look({.loading = running->loading, .busy = busy, .work = work});
    if (verdict == Watchdog::Verdict::hung) {
      co_await end_hung(running);
    } else if (verdict == Watchdog::Verdict::ask) {
      auto asking = answers(running->server->target(home_));
      const auto answer = co_await async::with_timeout(timers_, pace, std::move(asking));
      answer.value_or(false) ? running->watchdog->alive() : running->watchdog->missed();
    }
  }
}

async::Task<void> ProcessManager::end_hung(std::shared_ptr<RunningInstance> running) {
  running->hung = fmt::format("{} for {} s and was {}", running->loading ? "made no progress" : "did not respond",
                              std::chrono::duration<double>(running->watchdog->timeout()).count(),
                              residency::runs_elsewhere(*running->spec) ? "given up" : "killed");
  log::warning("router", "{} {}", running->spec->name.value(), running->hung);
  running->watchdog->alive();  // for a fresh process of the same load
  co_await running->server->stop(Millis(0));
}

}  // namespace corral::router
