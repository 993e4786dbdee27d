// Matches projectors (mmproj) to models by location and name, since the files don't say. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/model_info.h"

namespace corral::models {

// A projector beside the model: in the same directory, or anywhere in the same hub repository.
struct ProjectorChoice {
  std::string stem;  // of the file
};

// The index of the projector for a model whose file (or set) is called `stem`. In this order:
//   1. those whose name without "mmproj" and quantisation equals the model's without quantisation, or one begins with
//      the other ("mmproj-gemma-3-4b-it-f16" for "gemma-3-4b-it-qat-Q4_0"); the longest match wins
//   2. when the models beside it are one family (`only_family`): any
// Of equals F16 is taken before BF16, Q8_0, F32 and the rest, then the first by name.
std::optional<std::size_t> choose_projector(const std::string& stem, bool only_family,
                                            const std::vector<ProjectorChoice>& projectors);

// The name that all quantisations of one model share, in lower case and with one kind of separator.
std::string family_of(const std::string& stem);

}  // namespace corral::models
