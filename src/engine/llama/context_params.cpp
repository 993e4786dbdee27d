#include "engine/llama/context_params.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "engine/llama/devices.h"
#include "engine/llama/split_devices.h"
#include "engine/schedule/draft_length.h"
#include "engine/schedule/pass_rows.h"
#include "engine/values/errors.h"

namespace corral::engine {
namespace {

constexpr std::array<std::pair<std::string_view, ggml_type>, 9> kCacheTypes = {{
    {"f32", GGML_TYPE_F32},
    {"f16", GGML_TYPE_F16},
    {"bf16", GGML_TYPE_BF16},
    {"q8_0", GGML_TYPE_Q8_0},
    {"q4_0", GGML_TYPE_Q4_0},
    {"q4_1", GGML_TYPE_Q4_1},
    {"q5_0", GGML_TYPE_Q5_0},
    {"q5_1", GGML_TYPE_Q5_1},
    {"iq4_nl", GGML_TYPE_IQ4_NL},
}};

std::optional<ggml_type> cache_type(std::string_view name) {
  const auto* const row = std::ranges::find(kCacheTypes, name, &std::pair<std::string_view, ggml_type>::first);
  if (row == kCacheTypes.end()) return std::nullopt;
  return row->second;
}

// Embeddings of several inputs fit into one pass; more sequences only cost buffers.
constexpr std::uint32_t kPooledSequences = 32;
constexpr std::uint32_t kGenerateBatch = 512;
constexpr std::uint32_t kPooledBatch = 2048;
// Below this size a pass is so short that threads wait for each other longer than they compute.
constexpr std::uint64_t kOneThreadBytes = 16 << 20;

}  // namespace

std::uint32_t output_rows(const Model& model, const EngineLoadOptions& options) {
  if (!model.memory_rules().drafts) return options.max_sequences;  // rejected draft tokens could not be removed
  return options.max_sequences + max_draft_tokens(options.max_sequences, options.speculative.max_tokens) + kMaxPadding;
}

std::uint32_t worker_count(const EngineLoadOptions& options) { return options.workers.value_or(1); }

std::int32_t compute_threads(const Model& model, const EngineLoadOptions& options) {
  if (options.n_threads > 0) return options.n_threads;
  if (model.facts().model_bytes < kOneThreadBytes) return 1;
  return static_cast<std::int32_t>(std::max(1u, std::thread::hardware_concurrency() / worker_count(options)));
}

namespace {

enum llama_split_mode split_mode(SplitMode mode) {
  switch (mode) {
    case SplitMode::none:
      return LLAMA_SPLIT_MODE_NONE;
    case SplitMode::layer:
      break;
    case SplitMode::row:
      return LLAMA_SPLIT_MODE_ROW;
  }
  return LLAMA_SPLIT_MODE_LAYER;
}

}  // namespace

Result<ModelParams> model_params(const EngineLoadOptions& options) {
  const std::vector<FoundDevice> found = found_devices();
  if (auto there = check_backend(found, options.backend); !there) return std::unexpected(there.error());
  ModelParams made{.params = llama_model_default_params()};
  llama_model_params& params = made.params;
  params.n_gpu_layers = options.n_gpu_layers;
  std::vector<FoundDevice> gpus;
  if (options.n_gpu_layers != 0) {
    auto chosen = choose_gpus(found, options.backend, options.devices);
    if (!chosen) return std::unexpected(chosen.error());
    gpus = std::move(*chosen);
    const Sharing sharing{.main_gpu = options.main_gpu, .tensor_split = options.tensor_split};
    if (auto fits = check_sharing(sharing, gpus.size()); !fits) return std::unexpected(fits.error());
    if (!options.backend.empty() || !options.devices.empty())
      for (const FoundDevice& gpu : gpus) made.devices.push_back(gpu.handle);
    params.split_mode = split_mode(options.split_mode);
    params.main_gpu = options.main_gpu;
  }
  if (!options.remotes.empty()) {
    auto split = connect_split(options, found, gpus);
    if (!split) return std::unexpected(split.error());
    made.devices = std::move(split->devices);
    made.tensor_split = std::move(split->shares);
    params.split_mode = LLAMA_SPLIT_MODE_LAYER;  // parts of matrices over a network are three times slower
    params.main_gpu = 0;
    params.n_gpu_layers = -1;  // all layers are assigned to devices, the CPU of this machine is one
  }
  // Even without layers on it, a GPU would be opened and its memory used for long prompts: for 0 layers no GPU is
  // opened.
  if (options.n_gpu_layers == 0 || !options.remotes.empty() || !options.backend.empty() || !options.devices.empty()) {
    made.devices.push_back(nullptr);
    params.devices = made.devices.data();
  }
  if (options.remotes.empty() && options.n_gpu_layers != 0) made.tensor_split = options.tensor_split;
  if (!made.tensor_split.empty()) {
    made.tensor_split.resize(std::max(llama_max_devices(), made.tensor_split.size()), 0.0F);
    params.tensor_split = made.tensor_split.data();
  }
  // Of a split, this machine keeps only its share: a mapped file would include the shares of others.
  const bool split = !options.remotes.empty();
  if (options.mmap != Toggle::automatic || options.mlock || split) {
    const bool mmap = options.mmap == Toggle::automatic ? !split : options.mmap == Toggle::on;
    params.load_mode = options.mlock ? (mmap ? LLAMA_LOAD_MODE_MMAP_MLOCK : LLAMA_LOAD_MODE_MLOCK)
                                     : (mmap ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE);
  }
  return made;
}

Result<llama_context_params> context_params(const Model& model, const EngineLoadOptions& options, KvShape shape) {
  const ModelFacts& facts = model.facts();
  const bool generative = facts.kind == ModelKind::generative;
  const auto type_k = cache_type(options.cache_type_k), type_v = cache_type(options.cache_type_v);
  if (!type_k || !type_v) {
    return fail(errc::invalid_argument,
                fmt::format("unknown cache type '{}'", type_k ? options.cache_type_v : options.cache_type_k),
                type_k ? "cache_type_v" : "cache_type_k");
  }
  llama_context_params params = llama_context_default_params();
  const std::uint32_t trained = facts.n_ctx_train == 0 ? kUnknownContext : facts.n_ctx_train;
  params.n_ctx = shape.cells != 0     ? shape.cells
                 : options.n_ctx != 0 ? options.n_ctx
                                      : std::min(trained, options.first_ctx);
  // libllama rounds a unified layout up, and also each part. The parts are those of the rounded pool, rounded down, so
  // that they never need more cells than it.
  if (shape.streams > 0) {
    const std::uint32_t pool = (params.n_ctx + kCellMultiple - 1) / kCellMultiple * kCellMultiple;
    params.n_ctx = std::max(1u, pool / shape.streams / kCellMultiple) * kCellMultiple * shape.streams;
  }
  params.n_batch = options.n_batch != 0 ? options.n_batch
                   : generative         ? kGenerateBatch
                                        : std::min(params.n_ctx, kPooledBatch);
  // Every step is one pass, and a pooled input must fit into one: the physical batch is the logical one.
  params.n_ubatch = params.n_batch;
  params.n_seq_max = !generative         ? std::min(kPooledSequences, params.n_batch)
                     : shape.streams > 0 ? shape.streams
                                         : options.max_sequences;
  // Rows of logits beyond one per sequence are never asked for; pooling reads every row.
  params.n_outputs_max = generative ? output_rows(model, options) : 0;
  params.kv_unified = shape.streams == 0;
  // libllama's default is true: cells of the whole context for layers that see a window of it.
  params.swa_full = options.swa_full == Toggle::automatic ? keeps_all_cells({.window = facts.window,
                                                                             .sequences = params.n_seq_max,
                                                                             .batch = params.n_ubatch,
                                                                             .n_ctx = params.n_ctx})
                                                          : options.swa_full == Toggle::on;
  params.embeddings = !generative;
  params.pooling_type = generative ? LLAMA_POOLING_TYPE_NONE : static_cast<enum llama_pooling_type>(facts.pooling);
  params.no_perf = true;
  params.type_k = *type_k;
  params.type_v = *type_v;
  params.flash_attn_type = options.flash_attention == Toggle::on    ? LLAMA_FLASH_ATTN_TYPE_ENABLED
                           : options.flash_attention == Toggle::off ? LLAMA_FLASH_ATTN_TYPE_DISABLED
                                                                    : LLAMA_FLASH_ATTN_TYPE_AUTO;
  params.n_threads = compute_threads(model, options);
  params.n_threads_batch = options.n_threads_batch > 0 ? options.n_threads_batch : params.n_threads;
  return params;
}

}  // namespace corral::engine
