#include "app/measure_process.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "engine/llama/backends.h"
#include "engine/llama/weight_speed.h"
#include "proc/exec_mode.h"
#include "remote/device_server.h"

namespace corral::app {

int measure_process(int argc, char** argv) {
  if (!proc::bind_to_parent_from_environment()) return EXIT_FAILURE;
  const std::string_view word = argc == 3 ? argv[2] : "";
  std::size_t threads = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), threads);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size() || threads == 0) {
    fmt::print(stderr, "usage: corral measure-speed THREADS\n");
    return EXIT_FAILURE;
  }
  const auto loaded = engine::load_backends();
  const auto devices = loaded ? remote::worker_devices({}) : std::unexpected(loaded.error());
  if (!devices || devices->empty()) {
    fmt::print(stderr, "{}\n", devices ? "no device found" : devices.error().message);
    return EXIT_FAILURE;
  }
  const auto speeds = engine::measure_weight_speeds(devices->front(), threads);
  if (!speeds) {
    fmt::print(stderr, "{}\n", speeds.error().message);
    return EXIT_FAILURE;
  }
  for (const auto& speed : *speeds) fmt::print("{} {}\n", speed.type, speed.bytes_per_second);
  return EXIT_SUCCESS;
}

}  // namespace corral::app
