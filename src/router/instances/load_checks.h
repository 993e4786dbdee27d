// Preflight of queued loads: files and memory need, one check for each load, however many requests wait. On the home
// loop.
#pragma once

#include <memory>
#include <unordered_map>

#include "async/task_group.h"
#include "router/core/core_driver.h"
#include "router/instances/memory_reporter.h"

namespace corral::router {

class LoadChecks {
 public:
  LoadChecks(async::Executor home, CoreDriver& driver, MemoryReporter& memory)
      : home_(home), driver_(driver), memory_(memory) {}

  void on(const residency::CheckLoad& action);
  void on(const residency::DropCheck& action);

  async::Task<void> stop();
  // Running checks, and cancelled ones that have not ended yet.
  std::size_t tasks() const;

 private:
  async::Task<void> look(residency::CheckLoad asked);
  async::Task<Result<residency::SpecPtr>> looked_at(residency::SpecPtr asked);

  const async::Executor home_;
  CoreDriver& driver_;
  MemoryReporter& memory_;
  std::unordered_map<residency::InstanceId, std::shared_ptr<async::TaskGroup>> looks_;
  std::vector<std::shared_ptr<async::TaskGroup>> given_up_;  // until they have ended
};

}  // namespace corral::router
