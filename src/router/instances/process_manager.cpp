#include "router/instances/process_manager.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/external/errors.h"
#include "base/log.h"
#include "router/base/errors.h"
#include "router/base/failure.h"
#include "router/options/model_context.h"

namespace corral::router {
namespace {

residency::LoadFault fault_of(const Error& error) {
  using residency::LoadFault;
  if (error.code == backends::errc::model_file_not_found) return LoadFault::file_not_found;
  if (error.code == backends::errc::invalid_option || error.code == backends::errc::backend_not_installed ||
      error.code == backends::external::errc::not_reachable)
    return LoadFault::invalid;
  if (error.code == backends::errc::load_never_fits) return LoadFault::never_fits;
  if (error.code == backends::errc::load_out_of_memory) return LoadFault::out_of_memory;
  return error.code == backends::errc::load_crashed ? LoadFault::crashed : LoadFault::other;
}

// For tasks whose end the core must learn in any case: rethrows a cancellation, logs other failures.
void log_failure(const std::exception_ptr& failure, const char* what, const std::string& name) {
  if (is_cancellation(failure)) std::rethrow_exception(failure);
  log::error("router", "{} of {} failed: {}", what, name, words_of(failure));
}

// For requests that still run: those of peers whose time limit is over, or of a group's engine (GroupLoads::end).
std::string cause_of_stop(residency::StopReason reason, const std::string& group) {
  if (!group.empty()) return group;
  if (reason == residency::StopReason::unload) return "it was unloaded";
  return "its node needs the memory, and the time limit for peer requests is over";
}

// As many as the backends keep files.
constexpr std::size_t kEndedLogs = 32;

async::Task<bool> until_set(async::Event& event) {
  co_await event.wait();
  co_return true;
}

}  // namespace

ProcessManager::ProcessManager(async::Executor home, async::Timers& timers, CoreDriver& driver, Counters& counters,
                               EventHub& hub, ProcessOptions options)
    : home_(home),
      timers_(timers),
      driver_(driver),
      counters_(counters),
      hub_(hub),
      options_(options),
      idle_(home),
      tasks_(home) {
  idle_.set();
}

std::shared_ptr<RunningInstance> ProcessManager::find(residency::InstanceId id) const {
  const auto found = running_.find(id);
  return found == running_.end() ? nullptr : found->second;
}

const RunningInstance* ProcessManager::resident(const ModelName& model) const {
  for (const auto& [id, running] : running_) {
    if (running->spec->name == model && !running->stopping && !running->loading) return running.get();
  }
  return nullptr;
}

const RunningInstance* ProcessManager::loading() const {
  const auto found = std::ranges::find_if(running_, [](const auto& entry) { return entry.second->loading; });
  return found == running_.end() ? nullptr : found->second.get();
}

std::filesystem::path ProcessManager::log_file(const ModelName& model) const {
  const RunningInstance* latest = nullptr;
  for (const auto& [id, running] : running_) {
    const bool has_log = running->spec->name == model && !running->server->log_file().empty();
    if (has_log && (latest == nullptr || latest->id < id)) latest = running.get();
  }
  if (latest != nullptr) return latest->server->log_file();
  for (const auto& [name, file] : ended_logs_)
    if (name == model) return file;
  return {};
}

void ProcessManager::on(const residency::StartLoad& action) {
  const auto running = RunningInstance::make(action.instance, action.spec, home_);
  const auto& spec = LoadSpec::of(action.spec);
  running->server = spec.backend->create(spec.model, spec.load_options);
  running->requested = spec.requested;
  log::info("router", "loading {}{}", spec.name.value(), action.attempt > 1 ? " again, with all memory free" : "");
  if (options_.watchdog_timeout > Millis(0) && running->server->is_askable()) {
    running->watchdog.emplace(options_.watchdog_timeout);
    running->watching.spawn("watchdog", watch(running));
  }
  running_[action.instance] = running;
  idle_.reset();
  try {
    running->tasks.spawn("load", run_load(running));
  } catch (...) {
    forget(running);
    throw;
  }
}

void ProcessManager::on(const residency::AbortLoad& action) {
  const auto running = find(action.instance);
  if (!running) return;
  log::info("router", "load of {} aborted ({})", running->spec->name.value(), residency::name_of(action.reason));
  counters_.of(*running->spec).loads[static_cast<std::size_t>(LoadOutcome::aborted)] += 1;
  end(running, "abort load", Millis(0));
}

void ProcessManager::on(const residency::StopInstance& action) {
  const auto running = find(action.instance);
  if (!running) return;
  log::info("router", "unloading {} ({})", running->spec->name.value(), residency::name_of(action.reason));
  counters_.of(*running->spec).stops[static_cast<std::size_t>(action.reason)] += 1;
  const auto instance = driver_.core().state().instances.find(action.instance);
  const bool works = instance != driver_.core().state().instances.end() && instance->second->leases > 0;
  if (works) running->end = cause_of_stop(action.reason, running->stop_cause);
  end(running, "stop", works ? Millis(0) : options_.stop_grace);
}

// If no task can be started to stop the process, it is released, which kills it.
void ProcessManager::end(const std::shared_ptr<RunningInstance>& running, const char* task, Millis grace) {
  running->stopping = true;
  try {
    tasks_.spawn(task, give_up(running, grace));
  } catch (...) {
    running->tasks.cancel();
    forget(running);
    throw;
  }
}

// ---- run of one process

async::Task<void> ProcessManager::run_load(std::shared_ptr<RunningInstance> running) {
  std::exception_ptr failure;
  try {
    auto lived = run(running);
    co_await std::move(lived);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) co_return;
  log_failure(failure, "the life", running->spec->name.value());
  if (!running->stopping) end(running, "stop", Millis(0));  // its end would stay unnoticed
}

async::Task<void> ProcessManager::run(std::shared_ptr<RunningInstance> running) {
  backends::WrappedServer::Hooks hooks;
  hooks.progress = [this, weak = std::weak_ptr(running)](double fraction) {
    const auto alive = weak.lock();
    if (alive) alive->progress = fraction;
    if (alive && alive->watchdog) alive->watchdog->alive();
    hub_.progressed();
  };
  hooks.request_done = [this, spec = running->spec,
                        weak = std::weak_ptr(running)](const backends::RequestStats& stats) {
    if (const auto alive = weak.lock()) alive->answered = true;
    counters_.used(*spec, stats);
  };
  const auto begin = timers_.now();
  auto loaded = co_await running->server->load(std::move(hooks));
  if (running->stopping) co_return;  // AbortLoad is answered elsewhere
  if (!loaded) co_return load_failed(running, std::move(loaded.error()));
  running->loading = false;
  running->context_window = running->server->facts().context_window;
  running->hung.clear();
  if (running->watchdog) running->watchdog->alive();
  auto& counted = counters_.of(*running->spec);
  counted.loads[static_cast<std::size_t>(LoadOutcome::loaded)] += 1;
  counted.load_seconds.observe(seconds_between(begin, timers_.now()));
  const auto& spec = LoadSpec::of(running->spec);
  const ModelContext context{.usable = running->context_window,
                             .trained = spec.model->traits.context_length,
                             .asked = spec.load_options.ctx_size.value_or(-1)};
  if (spec.share_of) {
    log::info("router", "{} is ready: a part of {}, for {}", spec.name.value(), spec.share_of->model,
              spec.share_of->host);
  } else {
    log::info("router", "{} is ready, with a context of {} tokens", spec.name.value(), context.usable);
  }
  if (const auto warning = warning_of(context); !warning.empty())
    log::warning("router", "{}: {}", spec.name.value(), warning);
  driver_.dispatch(residency::LoadSucceeded{running->id});
  running->end = co_await running->server->wait_for_exit();
  if (running->stopping) co_return;  // StopInstance is answered elsewhere
  if (auto work = running->server->last_work())
    running->last_work = std::make_shared<const backends::LastWork>(std::move(*work));
  died(running);
}

void ProcessManager::load_failed(const std::shared_ptr<RunningInstance>& running, Error error) {
  if (!running->hung.empty() && error.code == backends::errc::load_crashed)
    error.message = fmt::format("'{}' {}", running->spec->name.value(), running->hung);
  log::warning("router", "load of {} failed: {}", running->spec->name.value(), error.message);
  running->end = error.message;
  counters_.of(*running->spec).loads[static_cast<std::size_t>(LoadOutcome::failed)] += 1;
  hub_.note(running->id, error);
  forget(running);
  driver_.dispatch(residency::LoadFailed{running->id, fault_of(error), std::move(error)});
}

void ProcessManager::died(const std::shared_ptr<RunningInstance>& running) {
  if (!running->hung.empty()) running->end = running->hung;
  log::warning("router", "{} ended: {}", running->spec->name.value(), running->end);
  const auto instance = driver_.core().state().instances.find(running->id);
  const auto& others_ended_it = LoadSpec::of(running->spec).others_ended_it;
  auto others = others_ended_it ? others_ended_it() : std::string();
  const bool by_others = !others.empty();
  if (by_others) running->end = std::move(others);
  const auto* const work = running->last_work.get();
  if (!by_others && instance != driver_.core().state().instances.end())
    running->ended_under = work != nullptr ? work->requests.size() : instance->second->leases;
  counters_.of(*running->spec).crashes += 1;
  hub_.note(running->id, Error(make_error_code(errc::backend_died), running->end));
  forget(running);
  const bool worked = work == nullptr || !work->requests.empty();
  driver_.dispatch(residency::InstanceDied{running->id, running->end, worked, running->answered});
}

async::Task<void> ProcessManager::give_up(std::shared_ptr<RunningInstance> running, Millis grace) {
  // A load that is starting its process must have released it before the process can be stopped reliably.
  running->watching.cancel();
  running->tasks.cancel();
  std::exception_ptr failure;
  try {
    co_await running->tasks.join();
    co_await running->server->stop(grace);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) log_failure(failure, "the end", running->spec->name.value());
  forget(running);
  driver_.dispatch(residency::InstanceStopped{running->id, running->answered});
}

void ProcessManager::forget(const std::shared_ptr<RunningInstance>& running) {
  running->gone.set();
  running->watching.cancel();
  if (auto file = running->server->log_file(); !file.empty() && running_.contains(running->id)) {
    std::erase_if(ended_logs_, [&](const auto& entry) { return entry.first == running->spec->name; });
    ended_logs_.emplace_front(running->spec->name, std::move(file));
    if (ended_logs_.size() > kEndedLogs) ended_logs_.pop_back();
  }
  running_.erase(running->id);
  if (running_.empty()) idle_.set();
}

void ProcessManager::on(const residency::Downsize& action) {
  const auto running = find(action.instance);
  if (!running) return driver_.dispatch(residency::DownsizeFailed{action.instance});
  tasks_.spawn("downsize", downsize(running));
}

async::Task<void> ProcessManager::downsize(std::shared_ptr<RunningInstance> running) {
  std::exception_ptr failure;
  bool done = false;
  try {
    done = co_await running->server->downsize();
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure) log_failure(failure, "the downsizing", running->spec->name.value());
  if (!done) co_return driver_.dispatch(residency::DownsizeFailed{running->id});
  log::info("router", "{} is downsized: its KV cells and compute memory are free", running->spec->name.value());
  driver_.dispatch(residency::Downsized{running->id});
}

async::Task<void> ProcessManager::stop(Millis deadline) {
  auto waiting = until_set(idle_);
  const auto drained = co_await async::with_timeout(timers_, deadline, std::move(waiting));
  if (!drained) {
    const auto left = running_;  // a task may end, and forget its process, as soon as it is spawned
    for (const auto& [id, running] : left) end(running, "force stop", Millis(0));
    co_await idle_.wait();
  }
  co_await tasks_.join();
}

}  // namespace corral::router
