// Settings as clients of other servers spell them. Pure.
#pragma once

#include "config/sources.h"

namespace corral::config {

// The members of an object by the keys of the table: "llamacpp.backend" and {"llamacpp": {"backend": ...}} are
// llamacpp_backend. Values stay as they are. A key that nobody knows stays as it was written, with dots for nesting.
// Errors: invalid_value for a setting that is there twice.
Result<SetValues> flat_values(const json::Object& object);

}  // namespace corral::config
