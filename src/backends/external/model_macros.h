// Macros of a `models.toml`, as llama-swap has them: ${NAME} is replaced by its text in all values of an entry.
#pragma once

#include <functional>
#include <map>
#include <string>

#include <toml++/toml.h>

#include "base/error.h"

namespace corral::backends {

using Macros = std::map<std::string, std::string, std::less<>>;

// Adds the macros of a table; null: none. A macro may use earlier ones. `where`: for messages. Errors: bad_descriptor.
Result<> read_macros(const toml::node* node, const std::string& where, Macros& macros);
// Replaces them in all texts of `node`.
void put_in(toml::node& node, const Macros& macros);

}  // namespace corral::backends
