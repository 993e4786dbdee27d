// Recognises requests that no engine refuses: they need no check before their model is loaded. Pure functions.
#pragma once

#include <cstdint>

#include "router/base/upstream.h"
#include "router/instances/running_instance.h"

namespace corral::router {

// Minimum context of a load, in tokens.
std::uint64_t context_at_least(const LoadSpec& spec);

// Whether a model with `context` tokens certainly accepts the request, with any vocabulary: its body has fewer bytes,
// and has only the texts of an ordinary chat, prompt or input, and valid numbers. False if in doubt.
bool is_plain(const AskedRequest& asked, std::uint64_t context);

}  // namespace corral::router
