// What can be wrong with a JSON text.
#pragma once

#include "base/error.h"

namespace corral::json {

enum class errc {
  malformed = 1,  // not JSON; the message names the byte
  bad_number,     // beyond what a double holds, or with an exponent that is; carries the field
};

}  // namespace corral::json

CORRAL_DECLARE_ERRC(corral::json);
