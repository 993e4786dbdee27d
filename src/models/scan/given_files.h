// The files of a model that is served alone (GivenModel). Blocking file access.
#pragma once

#include <filesystem>
#include <vector>

namespace corral::models {

// The parts of the model, then projectors beside it: all, if the folder has no other model; else those whose names
// match its own.
std::vector<std::filesystem::path> files_of_given(const std::filesystem::path& file);

}  // namespace corral::models
