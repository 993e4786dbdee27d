// Tokens for one forward pass.
#pragma once

#include <cstdint>

#include <llama.h>

#include "engine/kv/media_span.h"
#include "engine/values/types.h"

namespace corral::engine {

class Batch {
 public:
  explicit Batch(std::uint32_t capacity)
      : batch_(llama_batch_init(static_cast<std::int32_t>(capacity), 0, 1)), capacity_(capacity) {}
  ~Batch() {
    clear();
    llama_batch_free(batch_);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void clear() {
    batch_.n_tokens = 0;
    batch_.token = tokens_;
    batch_.embd = nullptr;
    media_ = nullptr;
  }
  // The rows are cells of a picture or sound and have embeddings instead of tokens: `first` is that of row 0, and the
  // others follow. Both must outlive the pass. Applies until clear().
  void take_embeddings(const float* first, const MediaSpan& span) {
    batch_.token = nullptr;
    batch_.embd = const_cast<float*>(first);  // libllama only reads them
    media_ = &span;
  }
  const MediaSpan* media() const { return media_; }  // nullptr: the rows are tokens
  // `index`: number of tokens before it in its sequence. Row of the token, which identifies its logits; -1 if the batch
  // is full.
  std::int32_t add(Token token, std::uint32_t index, std::int32_t sequence, bool output) {
    if (size() == capacity_) return -1;
    const std::int32_t i = batch_.n_tokens++;
    if (batch_.token != nullptr) batch_.token[i] = token;
    batch_.pos[i] = static_cast<llama_pos>(index);
    batch_.n_seq_id[i] = 1;
    batch_.seq_id[i][0] = sequence;
    batch_.logits[i] = output ? 1 : 0;
    return i;
  }
  std::uint32_t size() const { return static_cast<std::uint32_t>(batch_.n_tokens); }
  std::uint32_t capacity() const { return capacity_; }
  // Its positions are the indexes.
  const llama_batch& raw() const { return batch_; }

 private:
  llama_batch batch_;
  llama_token* const tokens_ = batch_.token;
  const std::uint32_t capacity_;
  const MediaSpan* media_ = nullptr;
};

}  // namespace corral::engine
