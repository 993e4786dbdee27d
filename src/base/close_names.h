// Names that are similar to a misspelt one. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace corral {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidates close to `name`, best first, at most `limit`, without regard to case. Close: at most a third of the
// name's length (at least two) in edits, or one contains the other. Only the first 256 bytes of longer names are
// compared, so the work is small for any request.
std::vector<std::string> close_names(std::string_view name, std::span<const std::string> candidates, std::size_t limit);

}  // namespace corral
