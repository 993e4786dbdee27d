// Wraps a probe as a source: each read runs on a DriverThread, with a deadline.
#pragma once

#include <memory>
#include <string>

#include "device/driver_thread.h"
#include "device/pool_source.h"

namespace corral::device {

class DriverSource final : public PoolSource {
 public:
  DriverSource(async::Executor home, async::Timers& timers, std::string name, std::unique_ptr<DriverProbe> probe,
               Millis deadline)
      : name_(std::move(name)), deadline_(deadline), probe_(std::move(probe)), thread_(home, timers) {}

  std::string_view name() const override { return name_; }
  async::Task<Result<MemoryPools>> sample() override;

 private:
  const std::string name_;
  const Millis deadline_;
  const std::shared_ptr<DriverProbe> probe_;  // shared with a call that hangs
  DriverThread thread_;
};

}  // namespace corral::device
