// A libllama context with the batch that feeds it: the memory of one worker. One thread after construction.
// What libllama would abort on (more tokens than a batch holds, ids out of range) can't be said through this interface.
#pragma once

#include <atomic>
#include <memory>

#include <llama.h>

#include "base/error.h"
#include "engine/context_params.h"
#include "engine/model.h"

namespace corral::engine {

// Tokens for one forward pass.
class Batch {
 public:
  explicit Batch(std::uint32_t capacity)
      : batch_(llama_batch_init(static_cast<std::int32_t>(capacity), 0, 1)), capacity_(capacity) {}
  ~Batch() { llama_batch_free(batch_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void clear() { batch_.n_tokens = 0; }
  // Index of the token, by which its logits are asked for; -1 if the batch is full.
  std::int32_t add(Token token, std::uint32_t position, std::int32_t sequence, bool output) {
    if (size() == capacity_) return -1;
    const std::int32_t i = batch_.n_tokens++;
    batch_.token[i] = token;
    batch_.pos[i] = static_cast<llama_pos>(position);
    batch_.n_seq_id[i] = 1;
    batch_.seq_id[i][0] = sequence;
    batch_.logits[i] = output ? 1 : 0;
    return i;
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(batch_.n_tokens); }
  std::uint32_t capacity() const { return capacity_; }
  const llama_batch& raw() const { return batch_; }

 private:
  llama_batch batch_;
  const std::uint32_t capacity_;
};

// How a forward pass ended (llama_decode's return codes).
enum class DecodeStatus {
  ok,
  no_room,  // no KV cells for it; nothing changed
  aborted,  // cut short; finished parts stay
  failed,   // bad batch or a compute error; finished parts may stay
};

class Context {
 public:
  // `abort` is polled during every pass. Errors: out_of_memory, invalid_argument, unsupported (options this model can't
  // have).
  static Result<std::unique_ptr<Context>> make(std::shared_ptr<const Model> model, const LoadOptions& options,
                                               const std::atomic<bool>& abort, KvShape shape = {});

  DecodeStatus decode(const Batch& batch);
  // Logits of a token of the latest batch that was added with output; n_vocab floats, nullptr if there are none.
  const float* logits(std::int32_t index) { return llama_get_logits_ith(handle_.get(), index); }
  // Pooled output of a sequence of the latest batch, nullptr if there is none.
  const float* pooled(std::int32_t sequence) { return llama_get_embeddings_seq(handle_.get(), sequence); }

  void set_threads(std::int32_t n, std::int32_t n_batch) { llama_set_n_threads(handle_.get(), n, n_batch); }
  std::uint32_t n_ctx() const { return llama_n_ctx(handle_.get()); }
  std::uint32_t n_batch() const { return llama_n_batch(handle_.get()); }
  // Sequence ids that may be used: 0 .. sequence_ids() - 1.
  std::uint32_t sequence_ids() const { return sequence_ids_; }

  // --- the cells of a sequence ---
  // Tokens in the cache; its positions are 0 .. length - 1.
  std::uint32_t length(std::int32_t sequence) const;
  // Keeps the first `length` tokens. False if this kind of memory can't: the sequence is empty then.
  bool trim(std::int32_t sequence, std::uint32_t length);
  // A sequence has one state, which can't be cut back.
  bool recurrent() const;
  void clear(std::int32_t sequence);
  // Lets `to` (empty) share the first `length` cells of `from`. Only for plain_attention() models.
  void share(std::int32_t from, std::int32_t to, std::uint32_t length);
  void clear_all();

 private:
  Context(std::shared_ptr<const Model> model, llama_context* handle, std::uint32_t sequence_ids);

  struct Free {
    void operator()(llama_context* handle) const { llama_free(handle); }
  };
  std::shared_ptr<const Model> model_;  // outlives the context
  std::unique_ptr<llama_context, Free> handle_;
  llama_memory_t memory_;  // nullptr for encoders
  const std::uint32_t sequence_ids_;
};

}  // namespace corral::engine
