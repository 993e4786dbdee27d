// The environment that children inherit: variables for running, finding libraries and using devices, and nothing else.
// Keys and tokens are never inherited, so a compromised child, or a logged environment, can't reveal them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::proc {

// By the two tables in environment.cpp: a listed name, or a name with a listed prefix, unless it denotes a secret.
bool is_inherited(std::string_view name);

// "NAME=VALUE" for every inherited variable of `ours`, with `changes`: a value sets, nullopt removes. A set variable is
// passed whatever its name.
std::vector<std::string> child_environment(const char* const* ours,
                                           const std::map<std::string, std::optional<std::string>>& changes);

}  // namespace corral::proc
