// The processes of the router's instances: loads, watchdog, ends. On the home loop.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "router/base/counters.h"
#include "router/core/core_driver.h"
#include "router/core/event_hub.h"
#include "router/instances/running_instance.h"

namespace corral::router {

struct ProcessOptions {
  Millis stop_grace{5'000};    // between the request to end and the kill
  Millis watchdog_timeout{0};  // silence after which a process counts as hung; 0: no watchdog
};

class ProcessManager {
 public:
  // All must outlive it, and its tasks.
  ProcessManager(async::Executor home, async::Timers& timers, CoreDriver& driver, Counters& counters, EventHub& hub,
                 ProcessOptions options);

  void on(const residency::StartLoad& action);
  void on(const residency::AbortLoad& action);
  void on(const residency::StopInstance& action);
  void on(const residency::Downsize& action);

  // Empty: it has ended.
  std::shared_ptr<RunningInstance> find(residency::InstanceId id) const;
  const std::unordered_map<residency::InstanceId, std::shared_ptr<RunningInstance>>& all() const { return running_; }
  // The one that serves this model, if any.
  const RunningInstance* resident(const ModelName& model) const;
  // The one that loads, if any.
  const RunningInstance* loading() const;
  // The file with the output of the model's latest process, which may have ended; empty: none is known.
  std::filesystem::path log_file(const ModelName& model) const;

  void change(ProcessOptions options) { options_ = options; }
  // Waits until all have ended, as the core has ordered; kills the rest at `deadline`.
  async::Task<void> stop(Millis deadline);
  std::size_t tasks() const { return tasks_.running(); }

 private:
  async::Task<void> run_load(std::shared_ptr<RunningInstance> running);
  async::Task<void> run(std::shared_ptr<RunningInstance> running);
  void load_failed(const std::shared_ptr<RunningInstance>& running, Error error);
  void died(const std::shared_ptr<RunningInstance>& running);
  async::Task<void> downsize(std::shared_ptr<RunningInstance> running);
  void end(const std::shared_ptr<RunningInstance>& running, const char* task, Millis grace);
  async::Task<void> give_up(std::shared_ptr<RunningInstance> running, Millis grace);
  void forget(const std::shared_ptr<RunningInstance>& running);
  // process_manager_watch.cpp
  async::Task<void> watch(std::weak_ptr<RunningInstance> watched);
  async::Task<void> end_hung(std::shared_ptr<RunningInstance> running);

  const async::Executor home_;
  async::Timers& timers_;
  CoreDriver& driver_;
  Counters& counters_;
  EventHub& hub_;
  ProcessOptions options_;
  std::unordered_map<residency::InstanceId, std::shared_ptr<RunningInstance>> running_;
  std::deque<std::pair<ModelName, std::filesystem::path>> ended_logs_;  // of the latest ended processes
  async::Event idle_;                                                   // set while there is no process
  async::TaskGroup tasks_;
};

}  // namespace corral::router
