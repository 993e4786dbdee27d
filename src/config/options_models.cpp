// Settings for models: where they are, which are in memory, and what they run with. See option.h for what a row yields.
#include <array>

#include "config/errors.h"
#include "config/import_folders.h"
#include "config/llama_args.h"
#include "config/load_options.h"
#include "config/option_tables.h"
#include "config/request_defaults.h"
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
  return fail(errc::invalid_value, "there is no name in it", "alias");
}

const std::array kOptions = {
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
    Option{.key = "import_folders",
           .group = Group::models,
           .field = &S::import_folders,
           .fallback = "",
           .value_name = "PROGRAM,...",
           .help =
               "Also list the models of these programs, where they are: ollama, lmstudio, or ollama=/where/they/are. "
               "Nothing is copied or changed.",
           .right = "ollama, lmstudio, or both, each with a folder if need be: ollama=/where/they/are",
           .check = check_import,
           .older_flag = "--import",
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "auto_pull",
           .group = Group::models,
           .field = &S::auto_pull,
           .fallback = "false",
           .help =
               "A request that names a model of the hub (org/repo:QUANT) which isn't here has it fetched, and waits "
               "for it. Only of callers that may fetch models: with a key of the scope admin, or where there are no "
               "keys.",
           .applies = Applies::now},
    Option{.key = "offline",
           .group = Group::models,
           .field = &S::offline,
           .fallback = "false",
           .help = "Fetch nothing, whoever asks, and pause what is being fetched. HF_HUB_OFFLINE does the same.",
           .applies = Applies::now},
    Option{.key = "downloads_at_once",
           .group = Group::models,
           .field = &S::downloads_at_once,
           .fallback = "2",
           .value_name = "N",
           .help = "Models that are fetched at the same time; more wait their turn.",
           .range = {1, 16}},
    Option{.key = "download_ranges",
           .group = Group::models,
           .field = &S::download_ranges,
           .fallback = "4",
           .value_name = "N",
           .help = "Connections by which one model is fetched, each for a range of its files.",
           .range = {1, 16}},
    Option{.key = "model_file",
           .group = Group::models,
           .field = &S::model_file,
           .fallback = "",
           .value_name = "FILE",
           .help =
               "Serve this GGUF file and nothing else: it is loaded at the start, and whatever model a request names, "
               "or if it names none, this one answers. models_dir and hub_cache don't count then.",
           .settable = false,
           .guarded = true},
    Option{.key = "alias",
           .group = Group::models,
           .field = &S::alias,
           .fallback = "",
           .value_name = "NAME,...",
           .help = "What the model of model_file is called, instead of by its file's name.",
           .check = check_alias,
           .settable = false},
    Option{.key = "model_type",
           .group = Group::models,
           .field = &S::model_type,
           .fallback = "auto",
           .value_name = "TYPE",
           .help = "What the model of model_file is: auto: what the file says.",
           .choices = kGivenTypes,
           .settable = false},

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
    Option{.key = "chat_template",
           .group = Group::engine,
           .field = &S::chat_template,
           .fallback = "",
           .value_name = "TEXT",
           .help = "A Jinja template for chats instead of each model's own, or a name that llama.cpp knows: chatml, "
                   "llama3, mistral-v7, ... Those take no tools, but chatml.",
           .right = "a Jinja template, or a name such as chatml",
           .check = check_template,
           .several_lines = true,
           .applies = Applies::next_load},
    Option{.key = "request_defaults",
           .group = Group::engine,
           .field = &S::request_defaults,
           .fallback = "",
           .value_name = "JSON",
           .help = "What requests mean where they say nothing: an object of fields of requests, such as "
                   "{\"temperature\": 0.2}.",
           .right = "a JSON object of fields of requests",
           .check = check_request_defaults},
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

};

}  // namespace

std::span<const Option> models_options() { return kOptions; }

}  // namespace corral::config
