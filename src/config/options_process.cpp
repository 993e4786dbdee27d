// Settings for the process itself. See option.h for what a row yields.
#include <array>

#include "config/option_tables.h"

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
           .help = "How much is logged to standard error: trace, debug, info, warning, error or none.",
           .applies = Applies::now},
    Option{.key = "drain_timeout",
           .group = Group::process,
           .field = &S::drain_timeout,
           .fallback = "30s",
           .value_name = "TIME",
           .help = "How long a stop waits for running requests before it cuts them.",
           .range = {0, kHour},
           .applies = Applies::now},
    Option{
        .key = "runtime_dir",
        .group = Group::process,
        .field = &S::runtime_dir,
        .fallback = "$XDG_RUNTIME_DIR/corral",
        .value_name = "DIR",
        .help =
            "Folder for the sockets between the server and its models, which nobody else may write to. Keep it short: "
            "the path of a socket ends after 107 bytes.",
        .guarded = true},
    Option{.key = "state_dir",
           .group = Group::process,
           .field = &S::state_dir,
           .fallback = "$XDG_STATE_HOME/corral",
           .value_name = "DIR",
           .help = "Folder for what outlives a run; the logs of the models are in its folder log.",
           .settable = false},
};

}  // namespace

std::span<const Option> process_options() { return kOptions; }

}  // namespace corral::config
