// How a router tells an engine whose request it is, so that clients get equal turns there: a number in a header, which
// says nothing but that two requests come from the same client. What clients send under this name never gets there.
#pragma once

#include <string_view>

namespace corral::protocol {

inline constexpr std::string_view kClientTag = "X-Corral-Client";
// Says kBackground where others' requests go first.
inline constexpr std::string_view kPriority = "X-Corral-Priority";
inline constexpr std::string_view kBackground = "background";

}  // namespace corral::protocol
