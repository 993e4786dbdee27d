// Engines of plans that this node hosts.
#include <algorithm>

#include <fmt/format.h>

#include "base/context_size.h"
#include "base/log.h"
#include "fleet/base/errors.h"
#include "fleet/hosting/router_group_parts.h"
#include "mesh/allocation/split_plan.h"
#include "residency/errors.h"
#include "router/base/failure.h"

namespace corral::fleet {

using async::Task;

namespace {

constexpr Millis kOthersLoad{60'000};  // time to wait for another peer load
constexpr Millis kProgress{500};
constexpr const char* kOverTime = "a node with a part of the model needs its memory, and the time limit is over";

// Rejects orders that this node can't carry out.
Result<> check(const EngineOrder& order, const std::string& llama) {
  for (const auto& part : order.parts) {
    if (part.llama.empty() || part.llama == llama) continue;
    return fail(errc::split_failed,
                fmt::format("'{}' has llama.cpp {}, this node {}: a split needs the same version on all nodes",
                            part.remote.name, part.llama, llama));
  }
  if (order.parts.empty() || order.own_share <= 0 || order.own_bytes > mesh::kMaxPlannedBytes)
    return fail(errc::split_failed, "invalid plan");
  return {};
}

backends::EngineSplit split_of(const EngineOrder& order) {
  backends::EngineSplit split{.remotes = {},
                              .own_share = order.own_share,
                              .memory = {order.own_bytes, std::min(order.own_cache, order.own_bytes)}};
  for (const auto& part : order.parts) split.remotes.push_back(part.remote);
  return split;
}

// If a worker or a connection was lost first, its loss is the cause of the engine's end.
std::function<std::string()> way_broke(const EngineOrder& order) {
  return [parts = order.parts] {
    const auto lost = std::ranges::find_if(parts, [](const auto& part) { return part.broken && part.broken->load(); });
    return lost == parts.end() ? std::string() : lost_part(lost->remote.name);
  };
}

// The plan uses announced facts of the model; this node's own file has the actual limit.
std::uint64_t context_of(const EngineOrder& order, const models::ModelInfo& model) {
  const std::uint64_t trained = model.traits.context_length;
  return std::min<std::uint64_t>(order.context, trained == 0 ? kFirstContext : trained);
}

// For with_timeout(), which needs a result.
Task<bool> finished(Task<void> task) {
  co_await std::move(task);
  co_return true;
}

}  // namespace

void RouterGroupProcesses::start(EngineOrder order) {
  const EngineKey key(order.model, order.of);
  if (engines_.contains(key)) return;
  const auto engine = std::make_shared<Engine>(parts_.home.executor(), std::move(order), ear_);
  engines_.emplace(key, engine);
  update_hold(engine->order.name);
  engine->tasks.spawn("engine of a group", live(engine));
}

Task<void> RouterGroupProcesses::live(EnginePtr engine) {
  // So that an order to stop during the calling code finds the task suspended.
  co_await async::asio::post(async::use_task);
  EngineEnd how = EngineEnd::failed;
  std::string why;
  std::exception_ptr failure;
  try {
    auto loading = load(engine);
    auto lease = co_await std::move(loading);
    if (lease) {
      engine->up = true;
      report(engine->ear, [model = engine->order.model, of = engine->order.of](GroupReports& reports) {
        reports.engine_started(model, of);
      });
      auto gone = lease->wait_for_exit();
      lease->give_back();  // from here on the model is like any other
      const auto ending = co_await std::move(gone);
      how = ending.intentional ? EngineEnd::given_up : EngineEnd::crashed;
      why = ending.intentional && ending.how.empty() ? "it was unloaded" : ending.how;
    } else {
      why = lease.error().message;
    }
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure && router::is_cancellation(failure)) std::rethrow_exception(failure);
  if (failure) why = router::words_of(failure);
  ended(engine, engine->asked ? EngineEnd::asked : how, std::move(why));
}

Task<Result<router::Lease>> RouterGroupProcesses::load(EnginePtr engine) {
  const EngineOrder& order = engine->order;
  if (auto fine = check(order, parts_.llama); !fine) co_return std::unexpected(fine.error());
  // An engine that an earlier receiver ordered may still be ending.
  const auto engines = engines_;
  for (const auto& [key, other] : engines) {
    if (other != engine && other->order.name == order.name && other->asked) co_await other->done.wait();
  }
  auto model = parts_.find(order.name);
  if (!model) co_return fail(errc::split_failed, fmt::format("'{}' is no longer on this node's disk", order.name));
  if (parts_.router.groups().is_there(model->name)) {
    if (!order.by_owner)
      co_return fail(errc::split_failed, fmt::format("'{}' is in memory unsplit on this node", order.name));
    auto unloading = parts_.router.unload(model->name);
    (void)co_await std::move(unloading);
  }
  engine->backend = parts_.engine(split_of(order));
  engine->tasks.spawn("progress of an engine", report_progress(engine));
  const auto context = context_of(order, *model);
  router::GroupLoad load{.model = std::move(model),
                         .backend = engine->backend,
                         .origin = order.by_owner ? residency::RequestOrigin::local : residency::RequestOrigin::peer,
                         .context = context,
                         .deadline = order.deadline,
                         .share = {},
                         .others_ended_it = way_broke(order)};
  const auto until = parts_.timers.now() + kOthersLoad;
  auto acquiring = acquire(std::move(load), until);
  co_return co_await std::move(acquiring);
}

Task<void> RouterGroupProcesses::report_progress(EnginePtr engine) {
  double reported = 0;
  while (true) {
    auto pause = parts_.timers.sleep_for(kProgress);
    co_await std::move(pause);
    if (engine->up || engine->over) co_return;
    auto asking = parts_.router.progress(ModelName(engine->order.name));
    const auto now = co_await std::move(asking);
    if (!now || *now == reported || engine->up || engine->over) continue;
    reported = *now;
    report(engine->ear, [model = engine->order.model, of = engine->order.of, reported](GroupReports& reports) {
      reports.engine_progress(model, of, reported);
    });
  }
}

void RouterGroupProcesses::drain(const EngineKey& key, std::optional<Millis> within) {
  const auto found = engines_.find(key);
  if (found == engines_.end() || found->second->drains) return;
  const EnginePtr engine = found->second;
  engine->drains = true;
  if (!engine->up) return stop(key);  // it has no requests
  engine->asked = true;
  tasks_.spawn("draining of an engine", drain_in_time(engine, within));
}

Task<void> RouterGroupProcesses::drain_in_time(EnginePtr engine, std::optional<Millis> within) {
  auto draining = parts_.router.groups().drain(engine->backend);
  if (!within) {
    co_await std::move(draining);
  } else {
    auto drained = finished(std::move(draining));
    const auto in_time = co_await async::with_timeout(parts_.timers, *within, std::move(drained));
    if (!in_time) {
      auto ending = parts_.router.groups().end(engine->backend, kOverTime);
      co_await std::move(ending);
    }
  }
  ended(engine, EngineEnd::asked, "");
}

void RouterGroupProcesses::stop(const EngineKey& key, std::string why) {
  const auto found = engines_.find(key);
  if (found == engines_.end()) return;
  found->second->asked = true;
  tasks_.spawn("stop of an engine", stop_now(found->second, std::move(why)));
}

Task<void> RouterGroupProcesses::stop_now(EnginePtr engine, std::string why) {
  co_await async::asio::post(async::use_task);
  if (!engine->up) engine->tasks.cancel();
  if (!engine->up) co_await engine->tasks.join();
  if (engine->backend) {
    auto ending = parts_.router.groups().end(engine->backend, std::move(why));
    co_await std::move(ending);
  }
  ended(engine, EngineEnd::asked, "");
}

void RouterGroupProcesses::ended(const EnginePtr& engine, EngineEnd how, std::string why) {
  if (std::exchange(engine->over, true)) return;
  const EngineOrder& order = engine->order;
  if (how == EngineEnd::failed || how == EngineEnd::crashed)
    log::warning("mesh", "the split engine of '{}' {}: {}", order.name,
                 how == EngineEnd::failed ? "didn't load" : "ended", why);
  const bool drained = engine->drains && how == EngineEnd::asked;
  report(engine->ear, [model = order.model, of = order.of, how, drained, why = std::move(why)](GroupReports& reports) {
    if (drained) reports.engine_drained(model, of);
    reports.engine_ended(model, of, how, why);
  });
  engines_.erase({order.model, order.of});
  engine->done.set();
  engine->tasks.cancel();
  update_hold(order.name);
}

void RouterGroupProcesses::update_hold(const std::string& name) {
  const bool has_engine = std::ranges::any_of(engines_, [&](const auto& e) { return e.second->order.name == name; });
  parts_.router.groups().hold(ModelName(name), has_engine || held_.contains(name));
}

}  // namespace corral::fleet
