// The compute backends and devices of this machine, as a child process finds them (devices_process.h). One that hangs
// or crashes is reported as the problem.
//
// Each line of the child is a JSON object: {"problem"}, {"cpu_backend"}, or a device {"name", "description", "gpu",
// "total", "free"}.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "async/timer.h"
#include "cli/doctor/machine_facts.h"
#include "proc/child.h"

namespace corral::app {

struct ComputeProbe {
  // Both outlive the task. `program`: corral itself.
  proc::Spawner& spawner;
  async::Timers& timers;
  std::filesystem::path program;
};

// Fills in cpu_backend, devices, compute_problem and compute_remedy, within half a minute. `facts` outlives the task.
async::Task<void> probe_compute(ComputeProbe probe, cli::MachineFacts& facts);

// The lines of the child, and their reader, which ignores other lines. Pure.
std::vector<std::string> compute_lines(const cli::MachineFacts& facts);
void read_compute_line(std::string_view line, cli::MachineFacts& facts);

}  // namespace corral::app
