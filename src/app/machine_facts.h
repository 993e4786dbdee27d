// Collects the facts about this machine for `corral doctor`.
#pragma once

#include <filesystem>
#include <string>

#include "base/path_access.h"
#include "cli/doctor/machine_facts.h"
#include "config/load.h"
#include "config/serve_settings.h"

namespace corral::app {

// Rights are those of the user that owns state_dir, which may be a service's. `settings` null: only what needs none.
// `environment` is the server's. Blocking: a second, up to a minute if drivers hang.
cli::MachineFacts examine_machine(const config::ServeSettings* settings, const config::Environment& environment);

// A folder of a setting, for that user. A missing one that the server writes is no problem, since the server creates
// it. Blocking.
cli::MachineFacts::Folder examine_folder(std::string setting, const std::filesystem::path& path, const FileUser& user,
                                         bool is_written);

}  // namespace corral::app
