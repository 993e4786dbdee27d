// Base64 as in JSON and in data URLs (RFC 4648 §4). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace corral::protocol {

// The bytes; up to two '=' at the end are optional. Nothing: it has other characters, or an impossible length.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace corral::protocol
