// Bytes of base64 text: of the usual and of the URL-safe alphabet, with or without padding and line breaks.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace corral::engine_server {

// None: another character, or an incomplete last group.
std::optional<std::vector<std::uint8_t>> from_base64(std::string_view text);

}  // namespace corral::engine_server
