// What children get of our environment: what programs need to run, to find their libraries and to drive their devices,
// and nothing else. Keys and tokens never: a child that is broken into, or that writes its environment into a log,
// can't tell what it doesn't know.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::proc {

// Of the two tables in environment.cpp: a name that is listed or begins as listed, unless it speaks of a secret.
bool is_inherited(std::string_view name);

// "NAME=VALUE" for everything of `ours` that is inherited, with `changes` made: a value sets, nullopt removes. What is
// set is passed on whatever its name.
std::vector<std::string> child_environment(const char* const* ours,
                                           const std::map<std::string, std::optional<std::string>>& changes);

}  // namespace corral::proc
