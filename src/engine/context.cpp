#include "engine/context.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "engine/errors.h"
#include "engine/llama_log.h"

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

Result<std::unique_ptr<Context>> Context::make(std::shared_ptr<const Model> model, const LoadOptions& options,
                                               const std::atomic<bool>& abort) {
  const ModelFacts& facts = model->facts();
  const bool generative = facts.kind == ModelKind::generative;
  const auto type_k = cache_type(options.cache_type_k), type_v = cache_type(options.cache_type_v);
  if (!type_k || !type_v) {
    return fail(errc::invalid_argument,
                fmt::format("unknown cache type '{}'", type_k ? options.cache_type_v : options.cache_type_k),
                type_k ? "cache_type_v" : "cache_type_k");
  }
  llama_context_params params = llama_context_default_params();
  const std::uint32_t trained = facts.n_ctx_train == 0 ? kDefaultContextCap : facts.n_ctx_train;
  params.n_ctx = options.n_ctx != 0 ? options.n_ctx : std::min(trained, kDefaultContextCap);
  params.n_batch = options.n_batch != 0 ? options.n_batch
                   : generative         ? kGenerateBatch
                                        : std::min(params.n_ctx, kPooledBatch);
  // Every step is one pass, and a pooled input must fit into one: the physical batch is the logical one.
  params.n_ubatch = params.n_batch;
  params.n_seq_max = generative ? options.max_sequences : std::min(kPooledSequences, params.n_batch);
  // Rows of logits beyond one per sequence are never asked for; pooling reads every row.
  params.n_outputs_max = generative ? options.max_sequences : 0;
  params.kv_unified = true;
  params.embeddings = !generative;
  params.pooling_type = generative ? LLAMA_POOLING_TYPE_NONE : static_cast<enum llama_pooling_type>(facts.pooling);
  params.no_perf = true;
  params.type_k = *type_k;
  params.type_v = *type_v;
  params.flash_attn_type = options.flash_attention == Toggle::on    ? LLAMA_FLASH_ATTN_TYPE_ENABLED
                           : options.flash_attention == Toggle::off ? LLAMA_FLASH_ATTN_TYPE_DISABLED
                                                                    : LLAMA_FLASH_ATTN_TYPE_AUTO;
  const std::uint32_t cores =
      facts.model_bytes < kOneThreadBytes ? 1 : std::max(1u, std::thread::hardware_concurrency() / options.workers);
  params.n_threads = options.n_threads > 0 ? options.n_threads : static_cast<std::int32_t>(cores);
  params.n_threads_batch = options.n_threads_batch > 0 ? options.n_threads_batch : params.n_threads;
  params.abort_callback = [](void* flag) {
    return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed);
  };
  params.abort_callback_data = const_cast<std::atomic<bool>*>(&abort);

  const LogCapture log;
  llama_context* const handle = llama_init_from_model(model->handle(), params);
  if (handle == nullptr) {
    return fail(errc::out_of_memory,
                fmt::format("no context of {} tokens for '{}': {}", params.n_ctx, facts.path, log.text()), "n_ctx");
  }
  // With a unified cache, ids above n_seq_max are fine as long as they don't run; a recurrent state has exactly
  // n_seq_max.
  const std::uint32_t ids = generative && model->plain_attention() ? kMaxSequences : params.n_seq_max;
  return std::unique_ptr<Context>(new Context(std::move(model), handle, ids));
}

Context::Context(std::shared_ptr<const Model> model, llama_context* handle, std::uint32_t sequence_ids)
    : model_(std::move(model)), handle_(handle), memory_(llama_get_memory(handle)), sequence_ids_(sequence_ids) {}

DecodeStatus Context::decode(const Batch& batch) {
  if (batch.size() == 0) return DecodeStatus::ok;
  if (batch.size() > n_batch()) return DecodeStatus::failed;
  const std::int32_t status = llama_decode(handle_.get(), batch.raw());
  llama_synchronize(handle_.get());  // a GPU computes on after the call; how long the pass took must be known
  switch (status) {
    case 0:
      return DecodeStatus::ok;
    case 1:
      return DecodeStatus::no_room;
    case 2:
      return DecodeStatus::aborted;
    default:
      return DecodeStatus::failed;
  }
}

std::uint32_t Context::length(std::int32_t sequence) const {
  return memory_ == nullptr ? 0 : static_cast<std::uint32_t>(llama_memory_seq_pos_max(memory_, sequence) + 1);
}

bool Context::recurrent() const { return model_->facts().recurrent; }

bool Context::trim(std::int32_t sequence, std::uint32_t keep) {
  if (memory_ == nullptr || length(sequence) <= keep) return true;
  const auto from = static_cast<llama_pos>(keep);
  bool trimmed = keep > 0 && llama_memory_seq_rm(memory_, sequence, from, -1);
  if (trimmed && !model_->plain_attention()) {
    // A sliding window has forgotten what lies before it: after a cut, the window must still be whole.
    const llama_pos window_start = std::max(0, from - llama_model_n_swa(model_->handle()));
    trimmed = llama_memory_seq_pos_min(memory_, sequence) <= window_start && length(sequence) == keep;
  }
  if (!trimmed) clear(sequence);
  return trimmed;
}

void Context::clear(std::int32_t sequence) {
  if (memory_ != nullptr) llama_memory_seq_rm(memory_, sequence, -1, -1);
}

void Context::share(std::int32_t from, std::int32_t to, std::uint32_t shared) {
  if (memory_ != nullptr) llama_memory_seq_cp(memory_, from, to, 0, static_cast<llama_pos>(shared));
}

void Context::clear_all() {
  if (memory_ != nullptr) llama_memory_clear(memory_, false);
}

}  // namespace corral::engine
