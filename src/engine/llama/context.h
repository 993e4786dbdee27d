// A libllama context: the KV memory of one worker, and its forward pass. One thread after construction. Its interface
// excludes calls on which libllama would abort (more tokens than a batch holds, ids out of range).
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include <llama.h>

#include "base/error.h"
#include "engine/kv/cell_count.h"
#include "engine/kv/kv_memory.h"
#include "engine/llama/model.h"
#include "engine/llama/sequence_positions.h"

namespace corral::engine {

class LlamaContext final : public KvMemory {
 public:
  // `abort` is polled during every pass. Errors: out_of_memory, invalid_argument, unsupported (options that this model
  // does not support).
  static Result<std::unique_ptr<LlamaContext>> make(std::shared_ptr<const Model> model,
                                                    const EngineLoadOptions& options, const std::atomic<bool>& abort,
                                                    KvShape shape = {});

  DecodeStatus decode(const Batch& batch) override;
  const float* logits(std::int32_t row) override { return llama_get_logits_ith(handle_.get(), row); }
  const llama_context* handle() const { return handle_.get(); }
  // Output of a row of the latest batch without pooling, nullptr if there is none.
  const float* unpooled(std::int32_t row) { return llama_get_embeddings_ith(handle_.get(), row); }
  // Pooled output of a sequence of the latest batch, nullptr if there is none.
  const float* pooled(std::int32_t sequence) { return llama_get_embeddings_seq(handle_.get(), sequence); }

  void set_adapters(const AdapterScales& scales) override;
  void set_threads(std::int32_t n, std::int32_t n_batch) override { llama_set_n_threads(handle_.get(), n, n_batch); }
  KvShape shape() const override { return shape_; }
  std::uint32_t n_ctx() const override { return llama_n_ctx(handle_.get()); }
  std::uint32_t n_batch() const override { return llama_n_batch(handle_.get()); }
  std::uint32_t free_cells() const override { return n_ctx() - std::min(n_ctx(), cells_.used()); }
  bool counts_cells() const override { return counts_cells_; }
  std::uint32_t cells_of(std::span<const std::int32_t> sequences) const override {
    return shape_.unified() ? cells_.used_by(sequences) : KvMemory::cells_of(sequences);
  }
  std::uint32_t own_cells(std::int32_t sequence) const override {
    return shape_.unified() ? cells_.own(sequence) : KvMemory::own_cells(sequence);
  }
  std::int32_t first_sequence() const override { return spare_ids_ ? 1 : 0; }
  std::uint32_t sequence_ids() const override { return sequence_ids_; }

  bool divisible() const override { return rules_.divisible; }
  bool can_cut(std::int32_t sequence, std::uint32_t length) const override;
  std::uint32_t length(std::int32_t sequence) const override;
  bool trim(std::int32_t sequence, std::uint32_t length) override;
  void clear(std::int32_t sequence) override;
  bool shift(std::int32_t sequence, std::uint32_t keep, std::uint32_t discard) override;
  bool can_shift() const override { return memory_ != nullptr && !multiple_ && llama_memory_can_shift(memory_); }
  bool share(std::int32_t from, std::int32_t to, std::uint32_t length) override;
  std::vector<std::uint8_t> save(std::int32_t sequence) override;
  bool restore(std::int32_t sequence, std::span<const std::uint8_t> bytes) override;
  void clear_all();

 private:
  LlamaContext(std::shared_ptr<const Model> model, llama_context* handle, KvShape shape,
               const llama_context_params& params);

  void recount(std::int32_t sequence);
  bool own_window(std::int32_t sequence);
  std::vector<std::uint8_t> save_cells(std::int32_t sequence);
  bool restore_cells(std::int32_t sequence, std::span<const std::uint8_t> bytes);
  // With several dimensions only.
  void place(const Batch& batch);
  void note_computed(const Batch& batch, std::int32_t status);
  SequencePositions& positions_of(std::int32_t sequence) { return positions_[static_cast<std::size_t>(sequence)]; }
  const SequencePositions& positions_of(std::int32_t sequence) const {
    return positions_[static_cast<std::size_t>(sequence)];
  }

  // The position of the token with this index, of the next one if there is none.
  llama_pos position(std::int32_t sequence, std::uint32_t index) const {
    return static_cast<llama_pos>(multiple_ ? positions_of(sequence).position(index) : index);
  }

  struct Free {
    void operator()(llama_context* handle) const { llama_free(handle); }
  };
  std::shared_ptr<const Model> model_;  // outlives the context
  std::unique_ptr<llama_context, Free> handle_;
  llama_memory_t memory_;  // nullptr for encoders
  const KvShape shape_;
  const MemoryRules rules_;
  const bool narrow_;     // layers with a window have cells for the windows only
  const bool spare_ids_;  // more ids than active sequences; the first one is reserved for save()
  const std::uint32_t sequence_ids_;
  const bool counts_cells_;
  CellCount cells_;                           // of a pool
  const bool multiple_;                       // the model rotates positions in several dimensions (M-RoPE)
  std::vector<SequencePositions> positions_;  // by sequence, if `multiple_`: libllama doesn't know how many cells of a
                                              // picture have the same position
  std::vector<llama_pos> placed_;             // positions of a batch
  AdapterScales adapters_;
};

}  // namespace corral::engine
