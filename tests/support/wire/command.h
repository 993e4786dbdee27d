// The commands of a wire, one line each; see usage in wire_main.cpp. Pure.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "path.h"

namespace corral::wire {

struct Command {
  std::string name;
  std::vector<std::string> words;              // behind the name
  std::map<std::string, std::string> options;  // KEY=VALUE
};

Command read_command(std::string_view line);

// What the options of a `path` command make of `before`; what they don't name stays. Or which of them is wrong.
std::expected<Faults, std::string> changed(Faults before, const std::map<std::string, std::string>& options);

std::string text_of(const Counts& counts);

}  // namespace corral::wire
