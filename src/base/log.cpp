#include "base/log.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include <spdlog/sinks/base_sink.h>
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

constexpr std::size_t kRecentLines = 1000;
constexpr std::size_t kRecentBytes = 256 * 1024;

// Readers keep only the number of their next line, so they cost the log nothing.
class RecentSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  RecentLines from(std::uint64_t number) {
    const std::scoped_lock lock(mutex_);
    const std::uint64_t first = next_ - lines_.size();
    const auto begin = static_cast<std::ptrdiff_t>(std::clamp(number, first, next_) - first);
    return {.lines = {lines_.begin() + begin, lines_.end()}, .missed = first - std::min(number, first), .next = next_};
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    lines_.emplace_back(text.data(), text.size());
    bytes_ += text.size();
    ++next_;
    while (lines_.size() > kRecentLines || (bytes_ > kRecentBytes && lines_.size() > 1)) {
      bytes_ -= lines_.front().size();
      lines_.pop_front();
    }
  }
  void flush_() override {}

  std::deque<std::string> lines_;
  std::size_t bytes_ = 0;
  std::uint64_t next_ = 0;
};

const std::shared_ptr<RecentSink>& recent_lines() {
  static const auto sink = std::make_shared<RecentSink>();
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

RecentLines recent_from(std::uint64_t number) { return recent_lines()->from(number); }

std::vector<std::string> recent() { return recent_from(0).lines; }

void write(Level level, std::string_view area, std::string_view line) {
  logger().log(to_spdlog(level), "[{}] {}", area, line);
}

}  // namespace corral::log
