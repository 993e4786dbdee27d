// NVIDIA GPUs through the driver's command-line program, for machines without a usable library. Each sample starts a
// child process, which takes some ten milliseconds and is killed if it is late.
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

// Parses the program's output, one GPU per line: index, PCI address, UUID, name, total, used, free, in MiB. Leaves out
// GPUs that do not report their memory, and other lines. Errors: malformed if no line has this format, absent for no
// GPU, failed if only failing GPUs are listed.
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
