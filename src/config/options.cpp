// The table. See option.h for what a row yields.
#include <array>

#include "config/option.h"
#include "residency/limits.h"

namespace corral::config {
namespace {

using S = ServeSettings;

constexpr std::int64_t kSecond = 1'000;
constexpr std::int64_t kHour = 3'600 * kSecond;
constexpr std::int64_t kMiB = 1 << 20;

Result<> check_limits(const std::string& text) {
  const auto limits = residency::parse_max_loaded_models(text);
  if (!limits) return std::unexpected(limits.error());
  return {};
}

const std::array kOptions = {
    Option{.key = "host",
           .group = Group::access,
           .field = &S::host,
           .fallback = "127.0.0.1",
           .value_name = "ADDRESS",
           .help = "Address to listen on. Other than loopback needs api_key, or allow_open.",
           .right = "an address or a host name"},
    Option{.key = "port",
           .group = Group::access,
           .field = &S::port,
           .fallback = "8000",
           .value_name = "N",
           .help = "TCP port to listen on; 0 picks a free one.",
           .range = {0, 65535}},
    Option{.key = "api_key",
           .group = Group::access,
           .field = &S::api_key,
           .fallback = "",
           .value_name = "KEY",
           .help = "Key that every request must carry. Other users of the machine can read flags: better in the "
                   "environment or in the file.",
           .secret = true},
    Option{.key = "allow_open",
           .group = Group::access,
           .field = &S::allow_open,
           .fallback = "false",
           .help = "Listen beyond loopback without a key. Everybody who reaches the port can use the server."},
    Option{.key = "max_body_bytes",
           .group = Group::access,
           .field = &S::max_body_bytes,
           .fallback = "256MiB",
           .value_name = "SIZE",
           .help = "Largest request body; more is answered with 413.",
           .range = {1024, 1024 * 1024 * kMiB}},
    Option{.key = "io_threads",
           .group = Group::access,
           .field = &S::io_threads,
           .fallback = "auto",
           .value_name = "N",
           .help = "Threads that move bytes between clients and models.",
           .range = {0, 64},
           .zero_name = "auto"},

    Option{.key = "models_dir",
           .group = Group::models,
           .field = &S::models_dir,
           .fallback = "",
           .value_name = "DIR",
           .help = "Folder with GGUF files, searched with its sub-folders. May be given several times."},
    Option{.key = "hub_cache",
           .group = Group::models,
           .field = &S::hub_cache,
           .fallback = "true",
           .help = "Also list the GGUF files in the Hugging Face hub cache (HF_HUB_CACHE, HF_HOME)."},

    Option{.key = "max_loaded_models",
           .group = Group::memory,
           .field = &S::max_loaded_models,
           .fallback = "1",
           .value_name = "LIMITS",
           .help = "Models in memory at once: N of each type, -1 without limit, \"5 2 4\" for llm, embedding and "
                   "reranking, or by name: llm=3,embedding=2,*=1.",
           .right = "N, -1, two or three numbers, or type=N for each type",
           .check = check_limits,
           .several_words = true},
    Option{.key = "swap_patience",
           .group = Group::memory,
           .field = &S::swap_patience,
           .fallback = "2s",
           .value_name = "TIME",
           .help = "How long a busy model that has to make room still takes new requests.",
           .range = {0, kHour}},
    Option{.key = "load_timeout",
           .group = Group::memory,
           .field = &S::load_timeout,
           .fallback = "auto",
           .value_name = "TIME",
           .help = "A load that takes longer has failed. auto: from the size of the files.",
           .range = {0, 24 * kHour},
           .zero_name = "auto"},
    Option{.key = "warm_spare",
           .group = Group::memory,
           .field = &S::warm_spare,
           .fallback = "true",
           .help = "Keep one empty engine process ready, so that the next model loads faster."},
    Option{.key = "watchdog_timeout",
           .group = Group::memory,
           .field = &S::watchdog_timeout,
           .fallback = "30s",
           .value_name = "TIME",
           .help = "A model's process that hangs for so long is killed, and replaced when it is needed: one that makes "
                   "no progress while it loads, or doesn't answer while it works on requests. off (0): never.",
           .range = {0, kHour},
           .zero_name = "off"},

    Option{.key = "ctx_size",
           .group = Group::engine,
           .field = &S::ctx_size,
           .fallback = "auto",
           .value_name = "N",
           .help = "Context of a model in tokens. auto (also 0 or -1): what the model was trained with, at most 8192.",
           .range = {-1, std::numeric_limits<std::int32_t>::max()},
           .zero_name = "auto"},
    Option{.key = "threads",
           .group = Group::engine,
           .field = &S::threads,
           .fallback = "auto",
           .value_name = "N",
           .help = "Compute threads of all models together. auto: one for each core.",
           .range = {0, 1024},
           .zero_name = "auto"},
    Option{.key = "parallel",
           .group = Group::engine,
           .field = &S::parallel,
           .fallback = "8",
           .value_name = "N",
           .help = "Requests that one model works on at the same time; more wait their turn.",
           .range = {1, 256}},
    Option{.key = "speculative",
           .group = Group::engine,
           .field = &S::speculative,
           .fallback = "16",
           .value_name = "N",
           .help = "Most tokens guessed ahead from what the text repeats, and checked in one pass; as many as the "
                   "machine gains by. Answers stay the same. 0: none.",
           .range = {0, 64}},
    Option{.key = "park_mib",
           .group = Group::engine,
           .field = &S::park_mib,
           .fallback = "1024",
           .value_name = "MIB",
           .help =
               "Host memory of each model for conversations that lost their place in the KV cache, so that going on "
               "doesn't compute them again. 0: none is kept.",
           .range = {0, 1 << 24}},
    Option{.key = "park_on_disk",
           .group = Group::engine,
           .field = &S::park_on_disk,
           .fallback = "false",
           .help = "Keep such conversations in the folder parked of state_dir when their model is unloaded, 8 GiB at "
                   "most, so that they outlive it. The files hold what was said, in a form that only corral reads."},

    Option{.key = "log_level",
           .group = Group::process,
           .field = &S::log_level,
           .fallback = "info",
           .value_name = "LEVEL",
           .help = "How much is logged to standard error: trace, debug, info, warning, error or none.",
           .live = true},
    Option{.key = "drain_timeout",
           .group = Group::process,
           .field = &S::drain_timeout,
           .fallback = "30s",
           .value_name = "TIME",
           .help = "How long a stop waits for running requests before it cuts them.",
           .range = {0, kHour}},
    Option{.key = "runtime_dir",
           .group = Group::process,
           .field = &S::runtime_dir,
           .fallback = "$XDG_RUNTIME_DIR/corral",
           .value_name = "DIR",
           .help = "Folder for the sockets between the server and its models. Keep it short: the path of a socket ends "
                   "after 107 bytes."},
    Option{.key = "state_dir",
           .group = Group::process,
           .field = &S::state_dir,
           .fallback = "$XDG_STATE_HOME/corral",
           .value_name = "DIR",
           .help = "Folder for what outlives a run; the logs of the models are in its folder log."},
};

}  // namespace

std::span<const Option> options() { return kOptions; }

}  // namespace corral::config
