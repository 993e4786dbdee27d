// Which of the copies that aren't whole yet were ordered by the allocation only: kept in a file beside them. Blocks on
// the disk, for the thread that writes copies.
#pragma once

#include <filesystem>
#include <set>

#include "base/sha256.h"

namespace corral::fleet {

// Without a file, or with a broken one: none, so that nothing is taken for less than an administrator's order.
std::set<Sha256> read_copy_marks(const std::filesystem::path& folder);
// A failure is logged. None: the file goes.
void write_copy_marks(const std::filesystem::path& folder, const std::set<Sha256>& marks);

}  // namespace corral::fleet
