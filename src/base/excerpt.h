// Texts of clients in messages. Pure.
#pragma once

#include <string>
#include <string_view>

namespace corral {

// Maximum bytes of a client's text in a message.
inline constexpr std::size_t kMaxExcerpt = 300;

// The beginning of a text, in whole characters; "…" replaces the rest, if any.
std::string excerpt(std::string_view text, std::size_t max = kMaxExcerpt);

}  // namespace corral
