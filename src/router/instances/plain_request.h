// Recognises requests that no engine refuses: they need no check before their model is loaded. Pure functions.
#pragma once

#include <cstdint>

#include "router/base/upstream.h"
#include "router/instances/running_instance.h"

namespace corral::router {

// Tokens of context that a load has in any case.
std::uint64_t context_at_least(const LoadSpec& spec);

// Whether a model with `context` tokens accepts the request, whatever its vocabulary: the body has fewer bytes, and
// only the texts of an ordinary chat, prompt or input, and numbers that were checked. False if in doubt.
bool is_plain(const AskedRequest& asked, std::uint64_t context);

}  // namespace corral::router
