// Settings of the process itself. See option.h for what a row yields.
#include <array>

#include "config/options/option_tables.h"

namespace corral::config {
namespace {

using S = ServeSettings;

constexpr std::int64_t kHour = 3'600 * 1'000;

const std::array kOptions = {
    Option{.key = "log_level",
           .group = Group::process,
           .field = &S::log_level,
           .fallback = "info",
           .value_name = "LEVEL",
           .help = "Log level on standard error: trace, debug, info, warning, error or none.",
           .applies = Applies::now},
    Option{.key = "drain_timeout",
           .group = Group::process,
           .field = &S::drain_timeout,
           .fallback = "30s",
           .value_name = "TIME",
           .help = "Time that a stop waits for running requests before it aborts them.",
           .range = {0, kHour},
           .applies = Applies::now},
    Option{.key = "runtime_dir",
           .group = Group::process,
           .field = &S::runtime_dir,
           .fallback = "$XDG_RUNTIME_DIR/corral",
           .value_name = "DIR",
           .help = "Folder for the sockets between the server and its models; other users must not have write access. "
                   "Keep the path short: a socket path has at most 107 bytes.",
           .guarded = true},
    Option{.key = "state_dir",
           .group = Group::process,
           .field = &S::state_dir,
           .fallback = "$XDG_STATE_HOME/corral",
           .value_name = "DIR",
           .help = "Folder for permanent data; its folder log has the logs of the models.",
           .settable = false},
};

}  // namespace

std::span<const Option> process_options() { return kOptions; }

}  // namespace corral::config
