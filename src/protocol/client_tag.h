// Headers of the router for the engine that identify the client of a request, so that clients get equal turns: a number
// that only shows which requests have the same client. The router removes these headers from clients' requests.
#pragma once

#include <string_view>

namespace corral::protocol {

inline constexpr std::string_view kClientTag = "X-Corral-Client";
// kBackground: run after requests of others.
inline constexpr std::string_view kPriority = "X-Corral-Priority";
inline constexpr std::string_view kBackground = "background";
// The program of an external backend gets path and body as they are.
inline constexpr std::string_view kUnchanged = "X-Corral-Unchanged";

}  // namespace corral::protocol
