#include "base/log.h"

#include <array>
#include <memory>
#include <utility>

#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace corral::log {
namespace {

struct LevelRow {
  std::string_view name;
  spdlog::level::level_enum level;
};
// Indexed by Level.
constexpr std::array kLevels = {
    LevelRow{"trace", spdlog::level::trace}, LevelRow{"debug", spdlog::level::debug},
    LevelRow{"info", spdlog::level::info},   LevelRow{"warning", spdlog::level::warn},
    LevelRow{"error", spdlog::level::err},   LevelRow{"none", spdlog::level::off},
};

spdlog::level::level_enum to_spdlog(Level level) { return kLevels[static_cast<std::size_t>(level)].level; }

constexpr std::size_t kRecentLines = 256;

const std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt>& recent_lines() {
  static const auto sink = std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(kRecentLines);
  return sink;
}

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = spdlog::stderr_color_mt("corral");
    made->sinks().push_back(recent_lines());
    made->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%-7l%$ %v");
    return made;
  }();
  return *instance;
}

}  // namespace

std::optional<Level> parse_level(std::string_view text) {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels[i].name == text) return static_cast<Level>(i);
  }
  return std::nullopt;
}

std::string_view name_of(Level level) { return kLevels[static_cast<std::size_t>(level)].name; }

void set_level(Level level) { logger().set_level(to_spdlog(level)); }

bool enabled(Level level) { return logger().should_log(to_spdlog(level)); }

std::vector<std::string> recent() { return recent_lines()->last_formatted(); }

void write(Level level, std::string_view area, std::string_view line) {
  logger().log(to_spdlog(level), "[{}] {}", area, line);
}

}  // namespace corral::log
