#include "fleet/groups/group_memory.h"

#include <fmt/format.h>

#include "base/log.h"
#include "fleet/base/errors.h"

namespace corral::fleet {

using async::Task;
using mesh::ContentKey;
using mesh::NodeId;
using mesh::PlanTerm;

namespace {

constexpr Millis kDiskAgain{10'000};    // after a failed write
constexpr Millis kDiskPatience{3'000};  // then the disk counts as hung
constexpr Millis kRest{60'000};         // after a recall by the owner
constexpr Millis kWorkerPatience{15'000};
constexpr Millis kWorkerLook{25};

const mesh::GrantResponse* granting(const mesh::GroupEffect& effect) {
  const auto* sent = std::get_if<mesh::SendMessage>(&effect);
  const auto* answer = sent != nullptr ? std::get_if<mesh::GrantResponse>(&sent->message) : nullptr;
  return answer != nullptr && answer->verdict == mesh::GrantDecision::granted ? answer : nullptr;
}

bool is_recall(const mesh::GroupEffect& effect) {
  const auto* sent = std::get_if<mesh::SendMessage>(&effect);
  return sent != nullptr && std::holds_alternative<mesh::GrantRecall>(sent->message);
}

}  // namespace

bool GroupMemory::is_granted(const NodeId& host, const PlanTerm& of) const {
  const auto& grant = groups_.granter().grant();
  return grant && groups_.granter().state() == mesh::GrantManager::State::granted && grant->host == host &&
         grant->ask.of == of;
}
bool GroupMemory::is_worker(const NodeId& host, const PlanTerm& of) const {
  return worker_ && worker_->order.host == host && worker_->order.of == of;
}

bool GroupMemory::take(const mesh::GroupEffect& effect) {
  if (const auto* remember = std::get_if<mesh::RememberHolder>(&effect)) {
    note(remember->host);
    return true;
  }
  const bool own = std::holds_alternative<mesh::OpenWorker>(effect) || std::holds_alternative<mesh::ReapWorker>(effect);
  const bool notifies = granting(effect) != nullptr || is_recall(effect);
  if (!own && !notifies) return false;
  if (!noting_) {
    carry_out(effect);
    return true;
  }
  // Only the last answer to a host matters, so repeated requests don't fill the queue.
  if (notifies)
    std::erase_if(waiting_,
                  [&](const auto& one) { return is_recall(effect) ? is_recall(one) : granting(one) != nullptr; });
  waiting_.push_back(effect);
  return true;
}

bool GroupMemory::refuses(const NodeId& from, const mesh::GroupMessage& message) {
  const auto* ask = std::get_if<mesh::GrantRequest>(&message);
  if (ask == nullptr || problem_.empty() || is_granted(from, ask->of)) return false;
  refuse(from, {.model = ask->model, .of = ask->of, .stamp = ask->stamp});
  return true;
}
void GroupMemory::refuse(const NodeId& host, mesh::GrantResponse answer) {
  answer.verdict = mesh::GrantDecision::too_little;
  answer.lease_ms = 0;
  parts_.peers.send(host, mesh::to_frame(answer));
}

void GroupMemory::note(const std::optional<NodeId>& host) {
  if (host == own_ || host == noted_) return;
  noted_ = host;
  if (!host) return file_.write(host, [this](const auto& written) { disk_answered(written); });
  noting_ = host;
  file_.write(host, [this, host](const Result<>& written) {
    disk_answered(written);
    if (noting_ == host) go_on(written.has_value());
  });
}

void GroupMemory::go_on(bool noted) {
  noting_.reset();
  for (const auto& effect : std::exchange(waiting_, {})) {
    const auto* granted = granting(effect);
    const auto to = granted != nullptr ? std::get<mesh::SendMessage>(effect).to : NodeId();
    if (granted != nullptr && !noted) {
      refuse(to, *granted);
    } else if (granted != nullptr ? is_granted(to, granted->of)
                                  : noted || std::holds_alternative<mesh::ReapWorker>(effect)) {
      carry_out(effect);
    }
  }
  if (!noted) {
    noted_.reset();
    groups_.give_up(parts_.now());
  }
  settle_();
}

void GroupMemory::disk_answered(const Result<>& written) {
  if (!written) disk_again_ = parts_.timers.now() + kDiskAgain;
  set_problem(written ? std::string() : written.error().message);
}

void GroupMemory::set_problem(std::string cause) {
  if (!cause.empty()) {
    cause = fmt::format("this node grants no memory for splits, because it can't record the host: {}", cause);
  }
  if (cause == problem_) return;
  problem_ = std::move(cause);
  if (!problem_.empty()) log::error("mesh", "{}", problem_);
  settle_();
}

void GroupMemory::look() {
  const auto now = parts_.timers.now();
  if (const auto since = file_.waiting_since()) {
    if (now - *since >= kDiskPatience) set_problem("the disk does not respond");
  } else if (!problem_.empty() && now >= disk_again_ && !noting_) {
    disk_again_ = now + kDiskAgain;
    file_.write(noted_, [this](const auto& written) { disk_answered(written); });
  }
  if (noted_ && !groups_.granter().grant() && now >= settled_) note(std::nullopt);
  apply_lend();
}

void GroupMemory::carry_out(const mesh::GroupEffect& effect) {
  if (const auto* opened = std::get_if<mesh::OpenWorker>(&effect)) return open(*opened);
  if (const auto* reaped = std::get_if<mesh::ReapWorker>(&effect)) return reap(*reaped);
  const auto& sent = std::get<mesh::SendMessage>(effect);
  parts_.peers.send(sent.to, mesh::to_frame(sent.message));
}

void GroupMemory::open(const mesh::OpenWorker& effect) {
  // A host's own share is a part of its engine's load. And the grant may have expired before the disk answered.
  if (effect.host == own_ || !is_granted(effect.host, effect.grant.of)) return;
  worker_ = std::make_shared<Worker>();
  worker_->order = {.host = effect.host,
                    .host_name = parts_.node_name(effect.host),
                    .model_name = parts_.model_name(effect.grant.model),
                    .model = effect.grant.model,
                    .of = effect.grant.of,
                    .bytes = effect.grant.bytes,
                    .llama = parts_.llama_of(effect.host)};
  parts_.processes.open_worker(worker_->order);
}

void GroupMemory::reap(const mesh::ReapWorker& effect) {
  if (!is_worker(effect.host, effect.of)) return groups_.worker_reaped(parts_.now());
  const auto before = std::exchange(worker_->state, Worker::State::reaping);
  if (before == Worker::State::restarting || before == Worker::State::reaping) return;  // ordered already
  parts_.processes.reap_worker(effect.host, effect.of);
}

// Lends nothing during a recall by the owner and a while after it, nor while a host is releasing the memory.
void GroupMemory::apply_lend() {
  if (winding_) return;
  if (recalled_) {
    if (!is_quiet()) rest_until_ = parts_.timers.now() + kRest;
    if (parts_.timers.now() < rest_until_) return;
    recalled_ = false;
    in_force_.reset();
  }
  if (taken_back_) {
    if (!is_quiet()) return;
    taken_back_ = false;
    in_force_.reset();
  }
  if (in_force_ == lent_) return;
  in_force_ = lent_;
  groups_.lend(lent_);
}

std::optional<GroupRunner::Shared> GroupMemory::shared() const {
  const auto& grant = groups_.granter().grant();
  if (!grant || grant->host == own_) return std::nullopt;
  GroupRunner::Shared shared;
  shared.host = grant->host;
  shared.model = grant->ask.model;
  shared.of = grant->ask.of;
  shared.model_name = parts_.model_name(shared.model);
  shared.bytes = grant->ask.bytes;
  shared.reaping = groups_.granter().state() == mesh::GrantManager::State::reaping;
  if (worker_) {
    shared.ready = worker_->state == Worker::State::ready;
    if (worker_->failure) shared.problem = worker_->failure->message;
  }
  return shared;
}

Task<Result<std::string>> GroupMemory::worker_for(NodeId host, ContentKey model, PlanTerm of) {
  const auto until = parts_.timers.now() + kWorkerPatience;
  bool restarted = false;
  while (true) {
    const auto worker = is_worker(host, of) ? worker_ : nullptr;
    if (!worker || worker->order.model != model || worker->state == Worker::State::reaping)
      co_return fail(errc::nowhere, "this plan has no grant of this node's memory, or no longer has one");
    if (worker->state == Worker::State::ready) co_return worker->socket;
    if (worker->state == Worker::State::failed) {
      if (restarted || !worker->again.take(parts_.timers.now())) co_return std::unexpected(*worker->failure);
      restarted = true;
      worker->state = Worker::State::restarting;
      parts_.processes.reap_worker(host, of);
    }
    if (parts_.timers.now() >= until) {
      co_return worker->failure ? Result<std::string>(std::unexpected(*worker->failure))
                                : fail(errc::nowhere, "the worker didn't start in time");
    }
    auto pause = parts_.timers.sleep_for(kWorkerLook);
    co_await std::move(pause);
  }
}

bool GroupMemory::worker_ready(const NodeId& host, PlanTerm of, std::string socket) {
  if (!is_worker(host, of)) return false;
  worker_->socket = std::move(socket);
  worker_->failure.reset();
  if (worker_->state == Worker::State::starting) worker_->state = Worker::State::ready;
  return true;
}

bool GroupMemory::worker_failed(const NodeId& host, PlanTerm of, Error why) {
  if (!is_worker(host, of)) return false;
  log::warning("mesh", "the worker for '{}' of {} has ended: {}", worker_->order.model_name, worker_->order.host_name,
               why.message);
  worker_->failure = std::move(why);
  const bool ran = worker_->state == Worker::State::starting || worker_->state == Worker::State::ready;
  if (ran) worker_->state = Worker::State::failed;
  return true;
}

bool GroupMemory::worker_reaped(const NodeId& host, PlanTerm of) {
  if (!is_worker(host, of)) return false;
  if (worker_->state == Worker::State::restarting) {
    worker_->state = Worker::State::starting;
    parts_.processes.open_worker(worker_->order);
    return true;
  }
  worker_.reset();
  groups_.worker_reaped(parts_.now());
  return true;
}

bool GroupMemory::recall(const NodeId& host, PlanTerm of) {
  if (!is_worker(host, of)) return false;
  log::info("mesh", "recalling the memory that {} uses for '{}'", worker_->order.host_name, worker_->order.model_name);
  recalled_ = true;
  rest_until_ = parts_.timers.now() + kRest;
  groups_.recall(parts_.now());
  return true;
}

void GroupMemory::take_back(mesh::BootTime now) {
  const auto& grant = groups_.granter().grant();
  if (!grant || grant->host == own_) return;
  taken_back_ = true;
  groups_.recall(now);
}

void GroupMemory::wind_down(mesh::BootTime now) {
  winding_ = true;
  groups_.recall(now);
}

void GroupMemory::force(mesh::BootTime now) {
  noting_.reset();
  for (const auto& effect : std::exchange(waiting_, {}))
    if (std::holds_alternative<mesh::ReapWorker>(effect)) carry_out(effect);
  groups_.give_up(now);
  settle_();
}

}  // namespace corral::fleet
