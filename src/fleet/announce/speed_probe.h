// How fast this machine computes layers of other nodes' models, measured by a child process (app/measure_process.h).
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "async/timer.h"
#include "mesh/catalog/node_state.h"
#include "proc/child.h"

namespace corral::fleet {

struct SpeedProbe {
  // All outlive the task of measure_speeds(). `program`: corral itself.
  proc::Spawner& spawner;
  async::Timers& timers;
  std::filesystem::path program;
  std::size_t threads = 1;  // as a worker has
};

// Takes about half a second, 30 s at most. Empty on failure. Cancelling ends the child.
async::Task<std::vector<mesh::WeightSpeed>> measure_speeds(SpeedProbe probe);
// The higher speed of each type: other load on the machine makes a measurement slower, nothing makes it faster. Pure.
std::vector<mesh::WeightSpeed> best_of(std::vector<mesh::WeightSpeed> speeds,
                                       const std::vector<mesh::WeightSpeed>& others);

// Measures until two results are there, a minute apart, since a machine may be busy at one moment. The pause doubles
// after a failure; at most ten attempts. Calls back with the best results so far.
using MeasureSpeeds = std::function<async::Task<std::vector<mesh::WeightSpeed>>()>;
async::Task<void> keep_measuring(async::Timers& timers, MeasureSpeeds measure,
                                 std::function<void(std::vector<mesh::WeightSpeed>)> report);

// "TYPE BYTES_PER_SECOND". Pure.
std::optional<mesh::WeightSpeed> parse_speed(std::string_view line);

}  // namespace corral::fleet
