// Files that a program which was killed leaves behind, and that are named after its process.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace corral::proc {

// Paths in which "{pid}" stands for the process.
using Leftovers = std::vector<std::string>;

// Removes what there is of them. On any thread; blocks for as long as the file system does.
void remove_leftovers(const Leftovers& paths, pid_t pid);

}  // namespace corral::proc
