#include "fleet/announce/speed_probe.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/log.h"

namespace corral::fleet {

using async::Task;

namespace {

constexpr Millis kLimit{30'000};
constexpr Millis kProbeAgain{60'000}, kSeldom{3'600'000};
constexpr int kMaxTries = 10, kEnough = 2;

Task<proc::ExitStatus> end_of(proc::Child& child) { co_return co_await child.wait(); }

}  // namespace

std::optional<mesh::WeightSpeed> parse_speed(std::string_view line) {
  const auto space = line.find(' ');
  if (space == 0 || space == std::string_view::npos) return std::nullopt;
  mesh::WeightSpeed speed{.type = std::string(line.substr(0, space)), .bytes_per_second = 0};
  const auto number = line.substr(space + 1);
  const auto* const end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, speed.bytes_per_second);
  if (read.ec != std::errc() || read.ptr != end || speed.bytes_per_second == 0) return std::nullopt;
  return speed;
}

std::vector<mesh::WeightSpeed> best_of(std::vector<mesh::WeightSpeed> speeds,
                                       const std::vector<mesh::WeightSpeed>& others) {
  for (const auto& other : others) {
    const auto same = std::ranges::find(speeds, other.type, &mesh::WeightSpeed::type);
    if (same == speeds.end()) {
      speeds.push_back(other);
    } else {
      same->bytes_per_second = std::max(same->bytes_per_second, other.bytes_per_second);
    }
  }
  return speeds;
}

Task<void> keep_measuring(async::Timers& timers, MeasureSpeeds measure,
                          std::function<void(std::vector<mesh::WeightSpeed>)> report) {
  std::vector<mesh::WeightSpeed> best;
  auto pause = kProbeAgain;
  for (int tries = 1, measured = 0;; ++tries) {
    auto measuring = measure();
    auto speeds = co_await std::move(measuring);
    const bool found = !speeds.empty();
    if (found) {
      best = best_of(std::move(speeds), best);
      report(best);
      if (++measured == kEnough) co_return;
      pause = kProbeAgain;
    }
    if (tries == kMaxTries) co_return;
    auto waiting = timers.sleep_for(pause);
    co_await std::move(waiting);
    if (!found) pause = std::min(2 * pause, kSeldom);
  }
}

Task<std::vector<mesh::WeightSpeed>> measure_speeds(SpeedProbe probe) {
  std::vector<mesh::WeightSpeed> speeds;
  proc::ChildSpec spec{.name = "measure speed",
                       .argv = {probe.program.native(), "measure-speed", fmt::format("{}", probe.threads)},
                       .binds_itself = true};
  spec.on_line = [&speeds](const proc::LogLine& line) {
    if (line.from_stderr) return;
    if (auto speed = parse_speed(line.text)) speeds.push_back(std::move(*speed));
  };
  auto child = co_await probe.spawner.spawn(std::move(spec));
  if (!child) {
    log::warning("mesh", "can't measure the speed of this machine: {}", child.error().message);
    co_return std::vector<mesh::WeightSpeed>();
  }
  auto ending = end_of(**child);
  const auto end = co_await async::with_timeout(probe.timers, kLimit, std::move(ending));
  // The child's on_line callback refers to `speeds`.
  child->reset();
  if (!end || !end->success()) {
    log::warning("mesh", "can't measure the speed of this machine: the measuring process {}",
                 end ? end->describe() : fmt::format("gave no answer within {} s", kLimit.count() / 1000));
    co_return std::vector<mesh::WeightSpeed>();
  }
  co_return speeds;
}

}  // namespace corral::fleet
