// Names that a person may have meant by another one. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace corral {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidates that are close to `name`, best first, at most `limit`. Case doesn't count. Close is: at most a third
// of the name's length (two at least) in edits, or one contains the other. Of longer names only the first 256 bytes
// count, so the work is small whatever a client asks for.
std::vector<std::string> close_names(std::string_view name, std::span<const std::string> candidates, std::size_t limit);

}  // namespace corral
