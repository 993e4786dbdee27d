// The members of a request that every answer repeats. Pure.
#pragma once

#include <string>

#include "dialects/kept.h"
#include "json/peek.h"

namespace corral::dialects::responses {

// JSON without braces, in the order of OpenAI's reference. Members that the request lacks have their default value,
// also within `tools`, `text` and `reasoning`. Members above 64 KiB are written as if they were absent, because they
// occur in several events.
std::string echo_of(json::View body, const StorageRequest& request);

}  // namespace corral::dialects::responses
