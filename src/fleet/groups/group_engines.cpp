#include "fleet/groups/group_engines.h"

#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "async/event.h"
#include "fleet/base/errors.h"
#include "router/base/failure.h"

namespace corral::fleet {

using async::Task;

namespace {

// As in router/options/model_options.cpp for an unsplit model.
constexpr Millis kDeadlineBase{60'000};
constexpr double kSlowDiskBytesPerMilli = 50'000;
constexpr double kMargin = 3;
constexpr double kMaxMillis = 24 * 3'600'000.0;

Task<bool> until_set(async::Event& event) {
  co_await event.wait();
  co_return true;
}

}  // namespace

Millis load_deadline(const mesh::SplitPlan& plan) {
  double own = 0, others = 0;
  for (const auto& share : plan.shares)
    (share.node == plan.host ? own : others) += static_cast<double>(share.weights) / kSlowDiskBytesPerMilli;
  const double sent = std::max(others, kMargin * 1000 * plan.load_s);
  return kDeadlineBase + Millis(static_cast<std::int64_t>(std::min(own + sent, kMaxMillis)));
}

// Tunnels of one engine while they are being opened.
struct GroupEngines::Tunnels {
  Tunnels(async::Executor executor, std::size_t count) : opened(count), stoppers(count), left(count), over(executor) {}
  void stop() {
    for (const auto& stopper : stoppers) stopper.stop();
  }

  std::vector<std::optional<OpenTunnel>> opened;
  std::vector<async::CancelSource> stoppers;
  std::size_t left;
  std::optional<Error> failure;
  async::Event over;  // all are open, or one has failed
};

void GroupEngines::start(mesh::GroupPlan plan, mesh::PlanTerm of, bool by_owner) {
  auto engine = std::make_shared<Engine>();
  engine->plan = std::move(plan);
  engine->of = of;
  engine->by_owner = by_owner;
  engines_[of] = engine;
  tasks_.spawn("mesh: an engine's tunnels", open(std::move(engine)));
}

// Reports every result, otherwise the group would wait for this engine permanently.
Task<void> GroupEngines::open(Ptr engine) {
  std::optional<Result<EngineOrder>> order;
  std::exception_ptr failure;
  try {
    auto preparing = prepare(engine);
    order = co_await std::move(preparing);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure && finished_) std::rethrow_exception(failure);
  if (failure) order = fail(errc::split_failed, router::words_of(failure));
  if (!order || engine->opening.stopped()) co_return;
  if (*order) {
    engine->ordered = true;
    parts_.processes.start_engine(std::move(**order));
    co_return;
  }
  engines_.erase(engine->of);
  engine->tunnels.clear();
  failed_(engine->plan.model, engine->of, std::move(order->error().message));
}

Task<void> GroupEngines::open_one(Ptr engine, std::shared_ptr<Tunnels> tunnels, std::size_t at, mesh::NodeId node) {
  const auto stopper = tunnels->stoppers[at];
  std::optional<Result<OpenTunnel>> opened;
  std::exception_ptr failure;
  try {
    auto opening = parts_.open_tunnel(node, engine->plan.model, engine->of);
    opened = co_await stopper.run(std::move(opening));
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure && finished_) std::rethrow_exception(failure);
  if (failure) opened = fail(errc::split_failed, router::words_of(failure));
  if (!opened || stopper.stopped()) co_return;
  if (*opened) {
    tunnels->opened[at] = std::move(**opened);
    if (--tunnels->left > 0) co_return;
  } else {
    tunnels->failure = std::move(opened->error());
    tunnels->failure->message = fmt::format("{}: {}", parts_.node_name(node), tunnels->failure->message);
    tunnels->stop();
  }
  tunnels->over.set();
}

Task<std::optional<Result<std::vector<OpenTunnel>>>> GroupEngines::open_all(Ptr engine,
                                                                            std::vector<mesh::NodeId> nodes) {
  const auto tunnels = std::make_shared<Tunnels>(parts_.executor, nodes.size());
  for (std::size_t at = 0; at < nodes.size() && !tunnels->over.is_set(); ++at)
    tasks_.spawn("mesh: a tunnel", open_one(engine, tunnels, at, nodes[at]));
  if (nodes.empty()) tunnels->over.set();
  auto waiting = until_set(tunnels->over);
  const auto over = co_await engine->opening.run(std::move(waiting));
  tunnels->stop();
  if (!over) co_return std::nullopt;
  if (tunnels->failure) co_return std::unexpected(std::move(*tunnels->failure));
  std::vector<OpenTunnel> all;
  for (auto& one : tunnels->opened) all.push_back(std::move(*one));
  co_return all;
}

Task<std::optional<Result<EngineOrder>>> GroupEngines::prepare(Ptr engine) {
  const auto& plan = engine->plan;
  EngineOrder order;
  order.model = plan.model;
  order.name = parts_.own_name(plan.model);
  order.of = engine->of;
  order.by_owner = engine->by_owner;
  if (order.name.empty()) {
    Error gone(make_error_code(errc::nowhere),
               fmt::format("'{}' is no longer on this node's disk", parts_.model_name(plan.model)));
    co_return std::unexpected(std::move(gone));
  }
  order.context = plan.split.context;
  order.deadline = load_deadline(plan.split);
  std::vector<mesh::NodeId> nodes;
  for (const auto& share : plan.split.shares)
    if (share.node != own_) nodes.push_back(share.node);
  auto opening = open_all(engine, nodes);
  auto opened = co_await std::move(opening);
  if (!opened) co_return std::nullopt;
  if (!*opened) co_return std::unexpected(opened->error());
  auto next = (*opened)->begin();
  for (const auto& share : plan.split.shares) {
    if (share.node == own_) {
      order.own_share = share.layers + 1;  // the output counts as one (llama_model::load_tensors)
      order.own_bytes = share.total();
      order.own_cache = share.cache + share.compute;
      continue;
    }
    auto& tunnel = *next++;
    engine->tunnels.push_back(std::move(tunnel.keeps));
    backends::RemotePart remote{parts_.node_name(share.node), std::move(tunnel.endpoint),
                                static_cast<double>(share.layers)};
    order.parts.push_back({std::move(remote), parts_.llama_of(share.node), std::move(tunnel.broken)});
  }
  co_return order;
}

// Open tunnels are closed with their last owner.
bool GroupEngines::give_up_opening(mesh::PlanTerm of) {
  const auto found = engines_.find(of);
  if (found == engines_.end() || found->second->ordered) return false;
  const auto engine = found->second;
  engines_.erase(found);
  engine->tunnels.clear();
  engine->opening.stop();
  return true;
}

bool GroupEngines::drain(mesh::PlanTerm of, std::optional<Millis> within) {
  if (give_up_opening(of)) return true;
  if (const auto* engine = find(of)) parts_.processes.drain_engine(engine->plan.model, of, within);
  return false;
}

bool GroupEngines::stop(mesh::PlanTerm of, std::string why) {
  if (give_up_opening(of)) return true;
  if (const auto* engine = find(of)) parts_.processes.stop_engine(engine->plan.model, of, std::move(why));
  return false;
}

bool GroupEngines::ended(mesh::PlanTerm of) {
  const auto found = engines_.find(of);
  if (found == engines_.end()) return false;
  const auto engine = found->second;  // its tunnels close with it
  engines_.erase(found);
  return true;
}

GroupEngines::Engine* GroupEngines::find(mesh::PlanTerm of) {
  const auto found = engines_.find(of);
  return found == engines_.end() ? nullptr : found->second.get();
}

const GroupEngines::Engine* GroupEngines::of_model(const mesh::ContentKey& model) const {
  for (const auto& [of, engine] : engines_)
    if (engine->plan.model == model) return engine.get();
  return nullptr;
}

std::vector<mesh::PlanTerm> GroupEngines::all() const {
  std::vector<mesh::PlanTerm> all;
  for (const auto& [of, engine] : engines_) all.push_back(of);
  return all;
}

Task<void> GroupEngines::finish() {
  finished_ = true;
  tasks_.cancel();
  co_await tasks_.join();
}

}  // namespace corral::fleet
