// Messages of the WebSocket of the Responses API. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::api {

// The body of POST responses for a client's message {"type":"response.create", ...}: a stream. Errors: json's
// malformed, missing_field, bad_value, unsupported_value.
Result<std::string> body_of_message(std::string message);
// The event for an answer with an error status, in any of the styles of errors.
std::string error_message(unsigned status, const std::string& answer);

}  // namespace corral::api
