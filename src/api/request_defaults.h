// What the server was told that requests mean where they say nothing. Pure.
#pragma once

#include <string>

#include "protocol/ask.h"

namespace corral::api {

// `body`, a canonical one that was checked, with those members of `defaults` (a JSON object that was checked) that are
// fields of what is asked and that the body says nothing of. Two fields that mean the same are one.
std::string with_defaults(std::string body, const std::string& defaults, protocol::Ask ask);

}  // namespace corral::api
