// Quantities in human-readable form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/human_bytes.h"

namespace corral::cli {

std::string human_duration(Millis duration);  // "250 ms", "1.2 s", "3 min", "2 h", "5 d"
std::string percent(double share);            // 0.4 -> "40 %"

// Shown in tables for unknown values.
inline constexpr std::string_view kUnknown = "-";
std::string or_unknown(const std::string& text);
std::string or_unknown(const std::optional<std::int64_t>& number);
// Tokens of context: "32768/131072" if the trained context is larger than that of one conversation.
std::string context_or_unknown(const std::optional<std::int64_t>& usable, const std::optional<std::int64_t>& trained);
// The program in a client's name, shortened: "OpenAI/JS 6.9.1 (linux)" -> "OpenAI/JS".
std::string client_text(const std::string& client);
std::string size_or_unknown(const std::optional<std::uint64_t>& bytes);

}  // namespace corral::cli
