// Texts of others in messages to people. Pure.
#pragma once

#include <string>
#include <string_view>

namespace corral {

// The most that a message repeats of a client's text, in bytes.
inline constexpr std::size_t kMaxExcerpt = 300;

// The beginning of a text, whole characters of it; "…" stands for the rest, if there is one.
std::string excerpt(std::string_view text, std::size_t most = kMaxExcerpt);

}  // namespace corral
