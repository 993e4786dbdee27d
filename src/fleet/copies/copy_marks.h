// Which incomplete copies only the allocation has ordered: kept in a file beside them. Blocks on the disk, for the
// thread that writes copies.
#pragma once

#include <filesystem>
#include <set>

#include "base/sha256.h"

namespace corral::fleet {

// Without a file, or with an invalid one: empty, so that a user's order never counts as one of the allocation.
std::set<Sha256> read_copy_marks(const std::filesystem::path& folder);
// Logs failures. Without marks the file is removed.
void write_copy_marks(const std::filesystem::path& folder, const std::set<Sha256>& marks);

}  // namespace corral::fleet
