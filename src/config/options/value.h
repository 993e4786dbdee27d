// Converts texts to values and back, for the kinds of settings. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/named.h"

namespace corral::config {

// true/false, yes/no, on/off, 1/0 in any case.
std::optional<bool> parse_bool(std::string_view text);
std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<double> parse_number(std::string_view text);
// A number with ms, s, m or h; without a unit it is seconds. Fractions are fine: "1.5s".
std::optional<Millis> parse_duration(std::string_view text);
// A number of bytes, or with a unit: k, M, G, T and KiB, MiB, GiB, TiB are powers of 1024; KB, MB, GB, TB of 1000.
std::optional<Bytes> parse_size(std::string_view text);

// The shortest text that parses back: 2s, 1500ms, 5m; 256MiB.
std::string to_text(Millis duration);
std::string to_text(Bytes size);

}  // namespace corral::config
