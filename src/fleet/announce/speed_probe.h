// How fast this machine computes layers of models that others host, asked of a child (app/measure_process.h).
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
  // All outlive what measure_speeds() does. `program`: corral itself.
  proc::Spawner& spawner;
  async::Timers& timers;
  std::filesystem::path program;
  std::size_t threads = 1;  // as a worker has
};

// Takes about half a second, 30 s at most. Empty where nobody could find out. Cancelling ends the child.
async::Task<std::vector<mesh::WeightSpeed>> measure_speeds(SpeedProbe probe);
// Of each type the fastest of both: what else runs on a machine makes it slower, and nothing makes it faster. Pure.
std::vector<mesh::WeightSpeed> best_of(std::vector<mesh::WeightSpeed> speeds,
                                       const std::vector<mesh::WeightSpeed>& others);

// Until it has measured twice, as a machine that is busy at one moment isn't at another: a minute apart, and after one
// that found nothing out later and later, ten times at most. `tell` is called with the best of what is known.
using MeasureSpeeds = std::function<async::Task<std::vector<mesh::WeightSpeed>>()>;
async::Task<void> keep_measuring(async::Timers& timers, MeasureSpeeds measure,
                                 std::function<void(std::vector<mesh::WeightSpeed>)> tell);

// "TYPE BYTES_PER_SECOND". Pure.
std::optional<mesh::WeightSpeed> parse_speed(std::string_view line);

}  // namespace corral::fleet
