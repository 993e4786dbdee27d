// Settings in the form of clients of other servers. Pure.
#pragma once

#include "config/sources.h"

namespace corral::config {

// The members of an object by the keys of the table: "llamacpp.backend" and {"llamacpp": {"backend": ...}} are
// llamacpp_backend. Values stay unchanged. An unknown key stays as it is, with dots for nesting. Errors: invalid_value
// for a setting that occurs twice.
Result<SetValues> flat_values(const json::Object& object);

}  // namespace corral::config
