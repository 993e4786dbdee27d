// Starts a server of this program for the time of one command.
#pragma once

#include <memory>

#include "cli/server/address.h"
#include "cli/terminal/interrupts.h"
#include "config/load.h"

namespace corral::cli {

// Runs `corral serve` at that address with the files of `inputs`, and returns when it listens. The end of the handle
// stops the server, and the kernel does so if this process is killed. Its log is in state_dir. Errors: no_server if it
// can't start, with the last line of its log; interrupted; those of config::find_state_dir().
Result<std::shared_ptr<void>> start_server(const Address& address, const config::Inputs& inputs,
                                           Interrupts& interrupts);

// The words after the program's name. Pure.
std::vector<std::string> words_of_server(const Address& address, const config::Inputs& inputs);

}  // namespace corral::cli
