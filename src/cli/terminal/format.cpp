#include "cli/terminal/format.h"

#include <fmt/format.h>

#include "cli/terminal/terminal.h"

namespace corral::cli {

namespace {
constexpr std::size_t kLongestClient = 20;
}

std::string human_duration(Millis duration) {
  const auto ms = std::max<std::int64_t>(duration.count(), 0);
  if (ms < 1'000) return fmt::format("{} ms", ms);
  if (ms < 10'000) return fmt::format("{:.1f} s", static_cast<double>(ms) / 1e3);
  const std::int64_t seconds = ms / 1'000;
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 2 * 3'600) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3'600) return fmt::format("{} h", seconds / 3'600);
  return fmt::format("{} d", seconds / 86'400);
}

std::string percent(double share) { return fmt::format("{:.0f} %", share * 100); }

std::string or_unknown(const std::string& text) { return text.empty() ? std::string(kUnknown) : text; }

std::string or_unknown(const std::optional<std::int64_t>& number) {
  return number ? std::to_string(*number) : std::string(kUnknown);
}

std::string context_or_unknown(const std::optional<std::int64_t>& usable, const std::optional<std::int64_t>& trained) {
  if (usable == 0) return std::string(kUnknown);  // models without tokens
  if (!usable || !trained || *trained <= *usable) return or_unknown(usable);
  return std::to_string(*usable) + "/" + std::to_string(*trained);
}

std::string client_text(const std::string& client) {
  return shorten(or_unknown(client.substr(0, client.find(' '))), kLongestClient);
}

std::string size_or_unknown(const std::optional<std::uint64_t>& bytes) {
  return bytes ? human_bytes(*bytes) : std::string(kUnknown);
}

}  // namespace corral::cli
