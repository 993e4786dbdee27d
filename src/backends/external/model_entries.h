// Reads the entries of a `models.toml`. A separate header, because toml++ is large.
#pragma once

#include <string>

#include <toml++/toml.h>

#include "backends/external/known_backends.h"

namespace corral::backends {

// Adds the entries in `table`, from the file `name`. Macros in `table` are replaced. Unknown keys, and keys of
// llama-swap that have no effect here, are warnings; entries with an invalid value are problems.
void read_models(toml::table& table, const std::string& name, KnownBackends& into);

}  // namespace corral::backends
