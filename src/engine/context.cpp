#include "engine/context.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/context_params.h"
#include "engine/errors.h"
#include "engine/llama_log.h"

namespace corral::engine {

Result<std::unique_ptr<Context>> Context::make(std::shared_ptr<const Model> model, const LoadOptions& options,
                                               const std::atomic<bool>& abort, KvShape shape) {
  const ModelFacts& facts = model->facts();
  auto made = context_params(*model, options, shape);
  if (!made) return std::unexpected(made.error());
  llama_context_params& params = *made;
  params.abort_callback = [](void* flag) {
    return static_cast<const std::atomic<bool>*>(flag)->load(std::memory_order_relaxed);
  };
  params.abort_callback_data = const_cast<std::atomic<bool>*>(&abort);

  const LogCapture log;
  llama_context* const handle = llama_init_from_model(model->handle(), params);
  if (handle == nullptr) {
    const auto text = fmt::format("no context of {} tokens for '{}': {}", params.n_ctx, facts.path, log.text());
    if (!log.speaks_of_memory()) return fail(errc::unsupported, text);
    return fail(errc::out_of_memory, text, "n_ctx");
  }
  model->apply_adapters(handle);
  // With a unified cache, ids above n_seq_max are fine as long as they don't run; a recurrent state and a split cache
  // have exactly n_seq_max.
  const bool spare_ids = facts.kind == ModelKind::generative && model->plain_attention() && shape.streams == 0;
  const std::uint32_t ids = spare_ids ? kMaxSequences : params.n_seq_max;
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
