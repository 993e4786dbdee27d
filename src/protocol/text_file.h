// Text files in request bodies. Pure; safe on every thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::protocol {

// The text of a file from "data:text/plain;base64,...": any type "text/..." and JSON. Valid UTF-8. Errors, whose
// message follows the name of a field: unsupported_value for other types, bad_value for invalid base64.
Result<std::string> text_of_file(std::string_view data_url);

}  // namespace corral::protocol
