// Settings of models: their folders, models in memory, and their options. See option.h for what a row yields.
#include <array>

#include "config/errors.h"
#include "config/import_folders.h"
#include "config/load/llama_args.h"
#include "config/load/load_options.h"
#include "config/load/request_defaults.h"
#include "config/options/option_tables.h"
#include "residency/limits.h"

namespace corral::config {
namespace {

using S = ServeSettings;

constexpr std::int64_t kHour = 3'600 * 1'000;
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

Result<> check_import(const std::string& text) {
  const auto folders = parse_import_folders(text);
  if (!folders) return std::unexpected(folders.error());
  return {};
}

Result<> check_alias(const std::string& text) {
  if (text.empty() || !names_in(text).empty()) return {};
  return fail(errc::invalid_value, "it contains no name", "alias");
}

const std::array kOptions = {
    Option{.key = "models_dir",
           .group = Group::models,
           .field = &S::models_dir,
           .fallback = "",
           .value_name = "DIR",
           .help = "Folder with GGUF files, searched recursively. Repeatable.",
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "hub_cache",
           .group = Group::models,
           .field = &S::hub_cache,
           .fallback = "true",
           .help = "Also list the GGUF files in the Hugging Face hub cache (HF_HUB_CACHE, HF_HOME).",
           .applies = Applies::now},
    Option{.key = "import_folders",
           .group = Group::models,
           .field = &S::import_folders,
           .fallback = "",
           .value_name = "PROGRAM,...",
           .help = "Also list the models of these programs, in place: ollama, lmstudio, or ollama=/where/they/are. "
                   "Nothing is copied or changed.",
           .right = "ollama, lmstudio, or both, optionally with a folder: ollama=/where/they/are",
           .check = check_import,
           .older_flag = "--import",
           .array_between = ",",
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "espeak_model",
           .group = Group::models,
           .field = &S::espeak_model,
           .fallback = "true",
           .help = "List the model espeak-ng, which generates speech, if its program is installed.",
           .applies = Applies::now},
    Option{.key = "auto_pull",
           .group = Group::models,
           .field = &S::auto_pull,
           .fallback = "false",
           .help = "Download a missing model of the hub (org/repo:QUANT) when a request names it; the request waits. "
                   "Only for callers that may download: with an admin key, or if the server has no keys.",
           .applies = Applies::now},
    Option{.key = "offline",
           .group = Group::models,
           .field = &S::offline,
           .fallback = "false",
           .help = "Download nothing, and pause running downloads. HF_HUB_OFFLINE does the same.",
           .applies = Applies::now},
    Option{.key = "downloads_at_once",
           .group = Group::models,
           .field = &S::downloads_at_once,
           .fallback = "2",
           .value_name = "N",
           .help = "Number of models that are downloaded at the same time; others wait.",
           .range = {1, 16}},
    Option{.key = "download_ranges",
           .group = Group::models,
           .field = &S::download_ranges,
           .fallback = "4",
           .value_name = "N",
           .help = "Number of connections per model; each downloads a range of its files.",
           .range = {1, 16}},
    Option{.key = "model_file",
           .group = Group::models,
           .field = &S::model_file,
           .fallback = "",
           .value_name = "FILE",
           .help = "Serve only this GGUF file: load it at start, and use it for every request, whatever model the "
                   "request names. models_dir and hub_cache are then ignored.",
           .settable = false,
           .guarded = true},
    Option{.key = "hub_model",
           .group = Group::models,
           .field = &S::hub_model,
           .fallback = "",
           .value_name = "NAME",
           .help = "Serve only this model of the Hugging Face hub, like model_file: org/repo:QUANT. If it isn't in the "
                   "hub cache, it is downloaded at the start, unless offline is on.",
           .settable = false},
    Option{.key = "alias",
           .group = Group::models,
           .field = &S::alias,
           .fallback = "",
           .value_name = "NAME,...",
           .help = "Names of the model of model_file or hub_model; the first one in the alphabet is its ID, as in "
                   "llama-server. Default: the name of the file, or of the model.",
           .check = check_alias,
           .array_between = ",",
           .settable = false},
    Option{.key = "tags",
           .group = Group::models,
           .field = &S::tags,
           .fallback = "",
           .value_name = "TAG,...",
           .help = "Tags of the model of model_file or hub_model, which /v1/models shows.",
           .array_between = ",",
           .settable = false},
    Option{.key = "model_type",
           .group = Group::models,
           .field = &S::model_type,
           .fallback = "auto",
           .value_name = "TYPE",
           .help = "Type of the model of model_file or hub_model; auto: from the file.",
           .choices = kGivenTypes,
           .settable = false},

    Option{.key = "max_loaded_models",
           .group = Group::memory,
           .field = &S::max_loaded_models,
           .fallback = "1",
           .value_name = "LIMITS",
           .help = "Maximum number of models in memory: N per type, -1 without limit, \"5 2 4\" for llm, embedding and "
                   "reranking, or by name: llm=3,embedding=2,*=1.",
           .right = "N, -1, two or three numbers, or type=N for each type",
           .check = check_limits,
           .several_words = true,
           .applies = Applies::now},
    Option{.key = "models_autoload",
           .group = Group::memory,
           .field = &S::models_autoload,
           .fallback = "true",
           .help = "A request loads its model. Otherwise only models in memory respond, unless the path ends with "
                   "?autoload=true."},
    Option{.key = "swap_patience",
           .group = Group::memory,
           .field = &S::swap_patience,
           .fallback = "2s",
           .value_name = "TIME",
           .help = "Time in which a busy model that must be evicted still accepts requests.",
           .range = {0, kHour},
           .applies = Applies::now},
    Option{.key = "load_timeout",
           .group = Group::memory,
           .field = &S::load_timeout,
           .fallback = "auto",
           .value_name = "TIME",
           .help = "Time limit of a load. auto: depends on the size of the files.",
           .range = {0, 24 * kHour},
           .zero_name = "auto",
           .applies = Applies::next_load},
    Option{.key = "warm_spare",
           .group = Group::memory,
           .field = &S::warm_spare,
           .fallback = "true",
           .help = "Keep a warm spare process, so that the next model loads faster."},
    Option{.key = "nuclear_evicts_pinned",
           .group = Group::memory,
           .field = &S::nuclear_evicts_pinned,
           .fallback = "false",
           .help = "When a failed load is retried, evict pinned models too.",
           .applies = Applies::now},
    Option{.key = "memory_limit",
           .group = Group::memory,
           .field = &S::memory_limit,
           .fallback = "0B",
           .value_name = "SIZE",
           .help = "Host memory that corral and its models may use together. 0B: the limit of the system, or of its "
                   "control group.",
           .range = {0, 1024 * 1024 * 1024 * kMiB}},
    Option{.key = "auto_evict",
           .group = Group::memory,
           .field = &S::auto_evict,
           .fallback = "false",
           .help = "Evict idle models automatically, earlier if memory is scarce. A model can override this.",
           .applies = Applies::now},
    Option{.key = "auto_evict_threshold_pct",
           .group = Group::memory,
           .field = &S::auto_evict_threshold_pct,
           .fallback = "0.9",
           .value_name = "X",
           .help = "Fraction of a device's memory from which on it counts as scarce. Applies only if auto_evict is on.",
           .range = {1, 1000},
           .applies = Applies::now},
    Option{.key = "downsize_idle_timeout",
           .group = Group::memory,
           .field = &S::downsize_idle_timeout,
           .fallback = "1m",
           .value_name = "TIME",
           .help = "Idle time before a model is downsized: it frees its KV cache and keeps its weights. Applies only "
                   "with auto_evict. 0: at once.",
           .range = {0, 24 * 365 * kHour},
           .never_name = "never",
           .applies = Applies::now},
    Option{.key = "evict_idle_timeout",
           .group = Group::memory,
           .field = &S::evict_idle_timeout,
           .fallback = "5m",
           .value_name = "TIME",
           .help = "Idle time before a model is unloaded. Applies only with auto_evict. 0: at once.",
           .range = {0, 24 * 365 * kHour},
           .never_name = "never",
           .applies = Applies::now},
    Option{.key = "evict_weight_factor",
           .group = Group::memory,
           .field = &S::evict_weight_factor,
           .fallback = "1",
           .value_name = "X",
           .help = "Weight for automatic eviction: models with a higher value are evicted later.",
           .range = {.above = true},
           .applies = Applies::now},
    Option{.key = "watchdog_timeout",
           .group = Group::memory,
           .field = &S::watchdog_timeout,
           .fallback = "30s",
           .value_name = "TIME",
           .help = "Kill a model's process after this time without progress of a load, or without a response while "
                   "requests run. It is replaced when it is needed. off (0): never.",
           .range = {0, kHour},
           .zero_name = "off",
           .applies = Applies::next_load},

    Option{.key = "ctx_size",
           .group = Group::engine,
           .field = &S::ctx_size,
           .fallback = "auto",
           .value_name = "N",
           .help = "Context of a model in tokens. auto (also 0 or -1): the trained context, limited by memory.",
           .range = {-1, std::numeric_limits<std::int32_t>::max()},
           .zero_name = "auto",
           .applies = Applies::next_load},
    Option{.key = "threads",
           .group = Group::engine,
           .field = &S::threads,
           .fallback = "auto",
           .value_name = "N",
           .help = "Compute threads of all models together. auto: one per core.",
           .range = {0, 1024},
           .zero_name = "auto",
           .applies = Applies::next_load},
    Option{.key = "parallel",
           .group = Group::engine,
           .field = &S::parallel,
           .fallback = "8",
           .value_name = "N",
           .help = "Concurrent requests per model; more wait.",
           .range = {1, 256},
           .applies = Applies::next_load},
    Option{.key = "speculative",
           .group = Group::engine,
           .field = &S::speculative,
           .fallback = "16",
           .value_name = "N",
           .help = "Maximum number of draft tokens (n-gram speculation) per pass; the engine adapts it to the machine. "
                   "The output does not change. 0: none.",
           .range = {0, 64},
           .applies = Applies::next_load},
    Option{.key = "llamacpp_backend",
           .group = Group::engine,
           .field = &S::llamacpp_backend,
           .fallback = "auto",
           .value_name = "NAME",
           .help = "Compute backend of models: auto (the best available), cpu (ignores gpu_layers), or a kind of GPU "
                   "that the engine was built for.",
           .choices = kComputeBackends,
           .older_flag = "--llamacpp",
           .applies = Applies::next_load},
    Option{.key = "llamacpp_args",
           .group = Group::engine,
           .field = &S::llamacpp_args,
           .fallback = "",
           .value_name = "FLAGS",
           .help = "llama-server flags for every model, such as \"-ngl 20 --lora a.gguf\"; flags without an equivalent "
                   "are rejected. Other settings override them.",
           .right = "flags such as \"-ngl 20\"",
           .check = check_args,
           .applies = Applies::next_load},
    Option{.key = "chat_template",
           .group = Group::engine,
           .field = &S::chat_template,
           .fallback = "",
           .value_name = "TEXT",
           .help = "Jinja template for chats instead of each model's own, or a name that llama.cpp knows: chatml, "
                   "llama3, mistral-v7, ... Named templates take no tools, except chatml.",
           .right = "a Jinja template, or a name such as chatml",
           .check = check_template,
           .several_lines = true,
           .applies = Applies::next_load},
    Option{.key = "request_defaults",
           .group = Group::engine,
           .field = &S::request_defaults,
           .fallback = "",
           .value_name = "JSON",
           .help = "Default values of request fields, as an object such as {\"temperature\": 0.2}.",
           .right = "a JSON object of fields of requests",
           .check = check_request_defaults,
           .table = true},
    Option{
        .key = "park_mib",
        .group = Group::engine,
        .field = &S::park_mib,
        .fallback = "1024",
        .value_name = "MIB",
        .help = "Host memory per model for parked conversations, so that they continue without a new prefill. 0: none.",
        .range = {0, 1 << 24},
        .applies = Applies::next_load},
    Option{.key = "park_on_disk",
           .group = Group::engine,
           .field = &S::park_on_disk,
           .fallback = "false",
           .help =
               "Also keep parked conversations on disk (folder parked in state_dir, at most 8 GiB) when their model "
               "is unloaded. The files contain the text of conversations, in a format that only corral reads.",
           .applies = Applies::next_load},

};

}  // namespace

std::span<const Option> models_options() { return kOptions; }

}  // namespace corral::config
