// The real ServerApi, over http::Client.
#pragma once

#include <memory>

#include "cli/server/address.h"
#include "cli/server/server_api.h"
#include "cli/terminal/interrupts.h"

namespace corral::cli {

// Runs its own loop on the caller's thread during each call. `interrupts` must outlive it.
std::unique_ptr<ServerApi> connect_http(const Address& address, Interrupts& interrupts);

}  // namespace corral::cli
