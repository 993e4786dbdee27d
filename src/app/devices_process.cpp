#include "app/devices_process.h"

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "app/compute_probe.h"
#include "engine/llama/backends.h"
#include "engine/llama/devices.h"
#include "proc/exec_mode.h"

namespace corral::app {

int devices_process(int, char**) {
  if (!proc::bind_to_parent_from_environment()) return EXIT_FAILURE;
  cli::MachineFacts facts;
  if (const auto loaded = engine::load_backends(); !loaded) {
    facts.compute_problem = loaded.error().message;
  } else {
    facts.cpu_backend = engine::cpu_backend_file();
    for (const auto& found : engine::found_devices()) {
      auto device = engine::describe(found.handle);
      facts.devices.push_back({.name = std::move(device.name),
                               .description = std::move(device.description),
                               .gpu = device.gpu,
                               .total = device.memory_total,
                               .free = device.memory_free});
    }
  }
  for (const auto& line : compute_lines(facts)) fmt::print("{}\n", line);
  std::fflush(stdout);
  std::_Exit(EXIT_SUCCESS);  // destructors of a GPU's library may hang
}

}  // namespace corral::app
