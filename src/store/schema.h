// The tables of the file, by version. Internal to store/.
#pragma once

#include "store/database.h"

namespace corral::store {

// Migrates an older file to the latest version, step by step, in one transaction. Throws Failure; also if a newer
// program made the file.
void migrate(Database& database);

}  // namespace corral::store
