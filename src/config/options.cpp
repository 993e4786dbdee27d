// The table. See option.h for what a row yields.
#include <array>

#include "config/errors.h"
#include "config/llama_args.h"
#include "config/option.h"
#include "config/origins.h"
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

Result<> check_args(const std::string& text) {
  const auto options = parse_llama_args(text);
  if (!options) return std::unexpected(options.error());
  return {};
}

Result<> check_origins(const std::string& text) {
  const auto origins = parse_origins(text);
  if (!origins) return std::unexpected(origins.error());
  return {};
}

Result<> check_hosts(const std::string& text) {
  const auto hosts = parse_hosts(text);
  if (!hosts) return std::unexpected(hosts.error());
  return {};
}

const std::array kOptions = {
    Option{.key = "host",
           .group = Group::access,
           .field = &S::host,
           .fallback = "127.0.0.1",
           .value_name = "ADDRESS",
           .help = "Address to listen on. Other than loopback needs a key, or allow_open.",
           .right = "an address or a host name",
           .guarded = true},
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
           .help =
               "A key that may do everything; more of them, and lesser ones, come from corral key. Other users of the "
               "machine can read flags: better in the environment or in the file.",
           .applies = Applies::now,
           .secret = true,
           .guarded = true},
    Option{.key = "allow_open",
           .group = Group::access,
           .field = &S::allow_open,
           .fallback = "false",
           .help = "Listen beyond loopback without a key. Everybody who reaches the port can use the server.",
           .guarded = true},
    Option{.key = "allowed_origins",
           .group = Group::access,
           .field = &S::allowed_origins,
           .fallback = "",
           .value_name = "ORIGIN",
           .help = "Web pages and apps that may use the server from a browser, beside its own: \"http://localhost:3000 "
                   "app://obsidian.md vscode-webview://*\". Everybody else's are refused.",
           .right = "origins with spaces between, such as http://localhost:3000 or app://obsidian.md",
           .check = check_origins,
           .several_words = true,
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "allowed_hosts",
           .group = Group::access,
           .field = &S::allowed_hosts,
           .fallback = "",
           .value_name = "NAME",
           .help =
               "Names that requests may call the server by, beside localhost: \"ai.example.org gpu-box.lan\". Beyond "
               "loopback, addresses are always taken, and without such a list every name where a key is asked for.",
           .right = "host names with spaces between, such as ai.example.org",
           .check = check_hosts,
           .several_words = true,
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "max_body_bytes",
           .group = Group::access,
           .field = &S::max_body_bytes,
           .fallback = "32MiB",
           .value_name = "SIZE",
           .help = "Largest request body; more is answered with 413.",
           .range = {1024, 1024 * 1024 * kMiB}},
    Option{.key = "max_bodies_bytes",
           .group = Group::access,
           .field = &S::max_bodies_bytes,
           .fallback = "256MiB",
           .value_name = "SIZE",
           .help = "Request bodies above 64 KiB that may be under way together; more are answered with 503. 0B: no "
                   "limit.",
           .range = {0, 1024 * 1024 * kMiB}},
    Option{.key = "max_connections",
           .group = Group::access,
           .field = &S::max_connections,
           .fallback = "4096",
           .value_name = "N",
           .help = "Connections at once; more are answered with 503.",
           .range = {1, 1'000'000}},
    Option{.key = "max_connections_per_address",
           .group = Group::access,
           .field = &S::max_connections_per_address,
           .fallback = "1024",
           .value_name = "N",
           .help = "Connections at once from one address (of IPv6, one network of 64 bits). off (0): no limit, for a "
                   "server behind a proxy.",
           .range = {0, 1'000'000},
           .zero_name = "off"},
    Option{.key = "max_event_readers",
           .group = Group::access,
           .field = &S::max_event_readers,
           .fallback = "256",
           .value_name = "N",
           .help = "Readers of events at once; more are answered with 503.",
           .range = {1, 100'000}},
    Option{.key = "head_timeout",
           .group = Group::access,
           .field = &S::head_timeout,
           .fallback = "10s",
           .value_name = "TIME",
           .help = "How long the head of a request may take in all.",
           .range = {1, kHour}},
    Option{.key = "slow_client_timeout",
           .group = Group::access,
           .field = &S::slow_client_timeout,
           .fallback = "30s",
           .value_name = "TIME",
           .help =
               "How long a client may keep the server waiting that sends its body, or takes its answer, slower than "
               "1 KiB a second.",
           .range = {1, 24 * kHour}},
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
           .help = "Folder with GGUF files, searched with its sub-folders. May be given several times.",
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "hub_cache",
           .group = Group::models,
           .field = &S::hub_cache,
           .fallback = "true",
           .help = "Also list the GGUF files in the Hugging Face hub cache (HF_HUB_CACHE, HF_HOME).",
           .applies = Applies::now},

    Option{.key = "max_loaded_models",
           .group = Group::memory,
           .field = &S::max_loaded_models,
           .fallback = "1",
           .value_name = "LIMITS",
           .help = "Models in memory at once: N of each type, -1 without limit, \"5 2 4\" for llm, embedding and "
                   "reranking, or by name: llm=3,embedding=2,*=1.",
           .right = "N, -1, two or three numbers, or type=N for each type",
           .check = check_limits,
           .several_words = true,
           .applies = Applies::now},
    Option{.key = "swap_patience",
           .group = Group::memory,
           .field = &S::swap_patience,
           .fallback = "2s",
           .value_name = "TIME",
           .help = "How long a busy model that has to make room still takes new requests.",
           .range = {0, kHour},
           .applies = Applies::now},
    Option{.key = "load_timeout",
           .group = Group::memory,
           .field = &S::load_timeout,
           .fallback = "auto",
           .value_name = "TIME",
           .help = "A load that takes longer has failed. auto: from the size of the files.",
           .range = {0, 24 * kHour},
           .zero_name = "auto",
           .applies = Applies::next_load},
    Option{.key = "warm_spare",
           .group = Group::memory,
           .field = &S::warm_spare,
           .fallback = "true",
           .help = "Keep one empty engine process ready, so that the next model loads faster."},
    Option{.key = "nuclear_evicts_pinned",
           .group = Group::memory,
           .field = &S::nuclear_evicts_pinned,
           .fallback = "false",
           .help = "A load that failed and is tried again with all memory free drives out pinned models too.",
           .applies = Applies::now},
    Option{.key = "memory_limit",
           .group = Group::memory,
           .field = &S::memory_limit,
           .fallback = "0B",
           .value_name = "SIZE",
           .help =
               "Host memory that corral and its models may use together. 0B: what the system, or its control group, "
               "gives.",
           .range = {0, 1024 * 1024 * 1024 * kMiB}},
    Option{.key = "auto_evict",
           .group = Group::memory,
           .field = &S::auto_evict,
           .fallback = "false",
           .help = "Let models that are idle leave memory by themselves, and sooner when memory is scarce. A model may "
                   "say otherwise for itself.",
           .applies = Applies::now},
    Option{.key = "auto_evict_threshold_pct",
           .group = Group::memory,
           .field = &S::auto_evict_threshold_pct,
           .fallback = "0.9",
           .value_name = "X",
           .help = "Memory of a device counts as scarce from this fraction of it on; only where auto_evict is on.",
           .range = {1, 1000},
           .applies = Applies::now},
    Option{
        .key = "downsize_idle_timeout",
        .group = Group::memory,
        .field = &S::downsize_idle_timeout,
        .fallback = "1m",
        .value_name = "TIME",
        .help =
            "A model of auto_evict that is idle for so long gives back its KV cache and keeps its weights. 0: at once.",
        .range = {0, 24 * 365 * kHour},
        .never_name = "never",
        .applies = Applies::now},
    Option{.key = "evict_idle_timeout",
           .group = Group::memory,
           .field = &S::evict_idle_timeout,
           .fallback = "5m",
           .value_name = "TIME",
           .help = "A model of auto_evict that is idle for so long is unloaded. 0: at once.",
           .range = {0, 24 * 365 * kHour},
           .never_name = "never",
           .applies = Applies::now},
    Option{.key = "evict_weight_factor",
           .group = Group::memory,
           .field = &S::evict_weight_factor,
           .fallback = "1",
           .value_name = "X",
           .help = "The higher, the later a model of auto_evict has to go when memory is scarce.",
           .range = {.above = true},
           .applies = Applies::now},
    Option{.key = "watchdog_timeout",
           .group = Group::memory,
           .field = &S::watchdog_timeout,
           .fallback = "30s",
           .value_name = "TIME",
           .help = "A model's process that hangs for so long is killed, and replaced when it is needed: one that makes "
                   "no progress while it loads, or doesn't answer while it works on requests. off (0): never.",
           .range = {0, kHour},
           .zero_name = "off",
           .applies = Applies::next_load},

    Option{.key = "ctx_size",
           .group = Group::engine,
           .field = &S::ctx_size,
           .fallback = "auto",
           .value_name = "N",
           .help = "Context of a model in tokens. auto (also 0 or -1): what the model was trained with, as far as "
                   "memory allows.",
           .range = {-1, std::numeric_limits<std::int32_t>::max()},
           .zero_name = "auto",
           .applies = Applies::next_load},
    Option{.key = "threads",
           .group = Group::engine,
           .field = &S::threads,
           .fallback = "auto",
           .value_name = "N",
           .help = "Compute threads of all models together. auto: one for each core.",
           .range = {0, 1024},
           .zero_name = "auto",
           .applies = Applies::next_load},
    Option{.key = "parallel",
           .group = Group::engine,
           .field = &S::parallel,
           .fallback = "8",
           .value_name = "N",
           .help = "Requests that one model works on at the same time; more wait their turn.",
           .range = {1, 256},
           .applies = Applies::next_load},
    Option{.key = "speculative",
           .group = Group::engine,
           .field = &S::speculative,
           .fallback = "16",
           .value_name = "N",
           .help = "Most tokens guessed ahead from what the text repeats, and checked in one pass; as many as the "
                   "machine gains by. Answers stay the same. 0: none.",
           .range = {0, 64},
           .applies = Applies::next_load},
    Option{.key = "llamacpp_backend",
           .group = Group::engine,
           .field = &S::llamacpp_backend,
           .fallback = "auto",
           .value_name = "NAME",
           .help = "What models compute with: auto, the best that is there; cpu, to keep them off the GPU whatever a "
                   "load says of gpu_layers; or one kind of GPU, where the engine was built for it.",
           .choices = kComputeBackends,
           .older_flag = "--llamacpp",
           .applies = Applies::next_load},
    Option{.key = "llamacpp_args",
           .group = Group::engine,
           .field = &S::llamacpp_args,
           .fallback = "",
           .value_name = "FLAGS",
           .help = "Flags of llama.cpp's server for every model, as far as they have an equal here, such as \"-ngl 20 "
                   "--lora a.gguf\". What a setting of its own says counts more.",
           .right = "flags such as \"-ngl 20\"",
           .check = check_args,
           .applies = Applies::next_load},
    Option{.key = "park_mib",
           .group = Group::engine,
           .field = &S::park_mib,
           .fallback = "1024",
           .value_name = "MIB",
           .help =
               "Host memory of each model for conversations that lost their place in the KV cache, so that going on "
               "doesn't compute them again. 0: none is kept.",
           .range = {0, 1 << 24},
           .applies = Applies::next_load},
    Option{.key = "park_on_disk",
           .group = Group::engine,
           .field = &S::park_on_disk,
           .fallback = "false",
           .help = "Keep such conversations in the folder parked of state_dir when their model is unloaded, 8 GiB at "
                   "most, so that they outlive it. The files hold what was said, in a form that only corral reads.",
           .applies = Applies::next_load},

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

std::span<const Option> options() { return kOptions; }

}  // namespace corral::config
