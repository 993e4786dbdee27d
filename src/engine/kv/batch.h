// Tokens for one forward pass.
#pragma once

#include <cstdint>

#include <llama.h>

#include "engine/values/types.h"

namespace corral::engine {

class Batch {
 public:
  explicit Batch(std::uint32_t capacity)
      : batch_(llama_batch_init(static_cast<std::int32_t>(capacity), 0, 1)), capacity_(capacity) {}
  ~Batch() { llama_batch_free(batch_); }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void clear() { batch_.n_tokens = 0; }
  // Row of the token, which identifies its logits; -1 if the batch is full.
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

}  // namespace corral::engine
