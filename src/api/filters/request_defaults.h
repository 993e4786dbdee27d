// Default values of request fields, from the settings or an alias. Pure.
#pragma once

#include <string>

#include "protocol/ask.h"

namespace corral::api {

// Adds to `body`, a checked canonical body, the members of `defaults` (a checked JSON object) that are fields of the
// operation and absent in the body. Two names of the same field count as one. "system" becomes the first message of a
// chat without a system message.
std::string with_defaults(std::string body, const std::string& defaults, protocol::Ask ask);

// `defaults`, and the members of `inherited` that it doesn't set. Both are JSON objects; empty: none.
std::string merged_defaults(std::string defaults, const std::string& inherited);

}  // namespace corral::api
