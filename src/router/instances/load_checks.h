// Looks at the files and needs of loads that wait in the queue, one look for each, however many wait. On the home loop.
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
  // Under way, and those that are being given up.
  std::size_t tasks() const;

 private:
  async::Task<void> look(residency::CheckLoad asked);
  async::Task<Result<residency::SpecPtr>> looked_at(residency::SpecPtr asked);

  const async::Executor home_;
  CoreDriver& driver_;
  MemoryReporter& memory_;
  std::unordered_map<residency::InstanceId, std::shared_ptr<async::TaskGroup>> looks_;
  std::vector<std::shared_ptr<async::TaskGroup>> given_up_;  // until they have unwound
};

}  // namespace corral::router
