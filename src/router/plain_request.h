// Requests that no engine refuses, so that nobody needs to check them before their model is loaded. Pure functions.
#pragma once

#include <cstdint>

#include "router/answering.h"
#include "router/running.h"

namespace corral::router {

// Tokens of context that a load has in any case.
std::uint64_t context_at_least(const LoadSpec& spec);

// Whether a model with so many tokens of context takes the request whatever its vocabulary: it has fewer bytes, and
// nothing in it but the texts of an ordinary chat, prompt or input, and numbers whose bounds have been checked. False
// where that isn't certain.
bool is_plain(const AskedRequest& asked, std::uint64_t context);

}  // namespace corral::router
