// Files of a killed program that are named after its process.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace corral::proc {

// Paths with "{pid}" for the process.
using Leftovers = std::vector<std::string>;

// Removes the existing ones. On any thread; blocks as long as the file system does.
void remove_leftovers(const Leftovers& paths, pid_t pid);

}  // namespace corral::proc
