// The state of corral.service, from systemctl.
#pragma once

#include <string_view>

#include "cli/doctor/machine_facts.h"

namespace corral::app {

// The output of `systemctl show` with the properties LoadState, ActiveState, Result, StatusText and NRestarts. Pure.
cli::ServiceState parse_service_state(std::string_view text);
// Runs systemctl if systemd runs this machine. Blocking.
cli::ServiceState read_service_state();

}  // namespace corral::app
