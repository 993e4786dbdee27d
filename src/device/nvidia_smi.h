// NVIDIA GPUs through the driver's command-line program, for machines on which its library can't be used. A child for
// each sample, some ten milliseconds; one that is late is killed.
#pragma once

#include <string>
#include <string_view>

#include "async/timer.h"
#include "device/pool_source.h"
#include "proc/child.h"

namespace corral::device {

struct NvidiaSmiOptions {
  std::string program = "nvidia-smi";  // a path, or a name to look up in PATH
  Millis deadline{10'000};
};

// The program's answer, one GPU in each line: index, PCI address, UUID, name, total, used, free, in MiB. GPUs that
// don't tell their memory are left out, other lines too. Errors: malformed when no line is such a line, absent for
// none, failed when only GPUs in trouble are there.
Result<MemoryPools> parse_nvidia_smi(std::string_view output);

class NvidiaSmiSource final : public PoolSource {
 public:
  // Both must outlive it.
  NvidiaSmiSource(async::Timers& timers, proc::Spawner& spawner, NvidiaSmiOptions options)
      : timers_(timers), spawner_(spawner), options_(std::move(options)) {}

  std::string_view name() const override { return "nvidia-smi"; }
  async::Task<Result<MemoryPools>> sample() override;

 private:
  async::Timers& timers_;
  proc::Spawner& spawner_;
  const NvidiaSmiOptions options_;
};

}  // namespace corral::device
