// Errors of JSON texts.
#pragma once

#include "base/error.h"

namespace corral::json {

enum class errc {
  malformed = 1,  // not JSON; the message names the byte
  bad_number,     // beyond the range of a double, or with such an exponent; has the field
};

}  // namespace corral::json

CORRAL_DECLARE_ERRC(corral::json);
