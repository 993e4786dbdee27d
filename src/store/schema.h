// The tables of the file, by version. Internal to store/.
#pragma once

#include <cstdint>

#include "store/database.h"

namespace corral::store {

// Brings an older file to the latest version, step by step, or not at all. Throws Failure; also where the file was made
// by a newer program.
void migrate(Database& database);
std::int64_t latest_version();

}  // namespace corral::store
