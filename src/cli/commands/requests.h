// Tables of running requests, shared by `requests` and `top`.
#pragma once

#include <span>

#include "cli/server/request_wire.h"
#include "cli/terminal/terminal.h"

namespace corral::cli {

// Nothing if there are none.
void print_requests(const Terminal& terminal, std::span<const ActiveRequest> requests);

}  // namespace corral::cli
