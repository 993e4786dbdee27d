// Base64 (RFC 4648, the usual alphabet) in bodies of requests. Padding may be missing, but not incomplete; line breaks
// are errors. Pure; safe on every thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace corral::protocol {

// Why a text isn't base64, for messages: "has a line break at position 76"; empty: it is base64.
std::string base64_fault(std::string_view text);
// Number of bytes that valid base64 stands for.
std::size_t base64_size(std::string_view text);
// The bytes; nothing if the text isn't base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace corral::protocol
