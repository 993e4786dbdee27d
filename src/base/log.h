// The logging facade: log::info("router", "loading {} ({} bytes)", name, size). Writes to stderr; only log.cpp uses the
// library behind it. Safe on every thread; a disabled level costs one atomic load and formats nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

namespace corral::log {

enum class Level { trace, debug, info, warning, error, none };

// Parses "trace", "debug", "info", "warning", "error", "none".
std::optional<Level> parse_level(std::string_view text);
std::string_view name_of(Level level);
void set_level(Level level);
bool enabled(Level level);
// Writes one line, already formatted. `area` is the folder or process it comes from.
void write(Level level, std::string_view area, std::string_view line);
// Some of the latest lines, oldest first, each with its line end. Lines have numbers, ascending by one from 0.
struct RecentLines {
  std::vector<std::string> lines;
  std::uint64_t missed = 0;  // lines from `number` on that are no longer stored
  std::uint64_t next = 0;    // number of the line that will follow
};
// The stored lines from this number on. Their count and size are bounded.
RecentLines recent_from(std::uint64_t number);
// All stored lines.
std::vector<std::string> recent();

#define CORRAL_LOG_LEVEL(name)                                                                            \
  template <typename... Args>                                                                             \
  void name(std::string_view area, fmt::format_string<Args...> format, Args&&... args) {                  \
    if (enabled(Level::name)) write(Level::name, area, fmt::format(format, std::forward<Args>(args)...)); \
  }
CORRAL_LOG_LEVEL(trace)
CORRAL_LOG_LEVEL(debug)
CORRAL_LOG_LEVEL(info)
CORRAL_LOG_LEVEL(warning)
CORRAL_LOG_LEVEL(error)
#undef CORRAL_LOG_LEVEL

}  // namespace corral::log
