// The KV memory of a worker and its forward pass, as an interface: a libllama context (context.h), or a fake in the
// simulation. One thread. A sequence holds tokens 0 .. length - 1 of one history.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "engine/kv/batch.h"
#include "engine/values/types.h"

namespace corral::engine {

// The layout of the KV cells.
struct KvShape {
  std::uint32_t streams = 0;  // 0: unified, one pool for all sequences; otherwise split into so many equal parts, one
                              // sequence each
  std::uint32_t cells = 0;    // in total; 0: as many as at the load
  bool unified() const { return streams == 0; }
  bool operator==(const KvShape&) const = default;
};

// libllama rounds the cells of a unified layout, and of each part, up to a multiple of this.
inline constexpr std::uint32_t kCellMultiple = 256;

// Result of a forward pass (return code of llama_decode). If the memory is not divisible(), an aborted pass leaves all
// sequences empty, also those that were not in it; a failed pass may do so.
enum class DecodeStatus {
  ok,
  no_room,  // no KV cells for it; nothing changed
  aborted,  // aborted; finished parts stay
  failed,   // bad batch or a compute error; finished parts may stay
};

class KvMemory {
 public:
  virtual ~KvMemory() = default;

  virtual DecodeStatus decode(const Batch& batch) = 0;
  // Logits of a token of the latest batch that was added with `output`: n_vocab floats, or nullptr.
  virtual const float* logits(std::int32_t row) = 0;
  // Sets the adapter scales for further passes; empty: those of the load, which also apply at first.
  virtual void set_adapters(const AdapterScales& /*scales*/) {}
  virtual void set_threads(std::int32_t n_threads, std::int32_t n_threads_batch) = 0;

  virtual KvShape shape() const = 0;
  virtual std::uint32_t n_ctx() const = 0;  // cells of all sequences together
  virtual std::uint32_t n_batch() const = 0;
  // Cells of a unified layout that no sequence has; for a split layout, see cells_per_sequence().
  virtual std::uint32_t free_cells() const = 0;
  // False: a sequence takes the same memory at any length (a recurrent state), and free_cells() is meaningless.
  virtual bool counts_cells() const { return true; }
  // Cells of these sequences, shared ones once; and cells that only this sequence has, which its clearing frees. The
  // defaults are for memories that share none.
  virtual std::uint32_t cells_of(std::span<const std::int32_t> sequences) const {
    std::uint32_t cells = 0;
    for (const std::int32_t sequence : sequences) cells += length(sequence);
    return cells;
  }
  virtual std::uint32_t own_cells(std::int32_t sequence) const { return length(sequence); }
  // Sequence ids that may be used: first_sequence() .. first_sequence() + sequence_ids() - 1.
  virtual std::int32_t first_sequence() const = 0;
  virtual std::uint32_t sequence_ids() const = 0;
  // An id below these for temporary use during a call (also by save()) or a pass; empty otherwise. -1: none.
  std::int32_t spare_sequence() const { return first_sequence() - 1; }
  // Padding rows can be added to a pass.
  bool takes_padding() const { return divisible() && (!shape().unified() || spare_sequence() >= 0); }
  // Most tokens that one sequence can hold.
  std::uint32_t cells_per_sequence() const { return shape().unified() ? n_ctx() : n_ctx() / shape().streams; }

  // Sequences can be cut and can share a prefix, if can_cut() allows it; false: a sequence has one state for all its
  // tokens.
  virtual bool divisible() const = 0;
  // Whether its first `length` tokens can be kept or shared. False if the cells of the sliding window before that point
  // are gone, or if the memory is not divisible.
  virtual bool can_cut(std::int32_t /*sequence*/, std::uint32_t /*length*/) const { return divisible(); }
  virtual std::uint32_t length(std::int32_t sequence) const = 0;
  // Keeps the first `length` tokens. False: this memory can't do it, and the sequence is empty.
  virtual bool trim(std::int32_t sequence, std::uint32_t length) = 0;
  virtual void clear(std::int32_t sequence) = 0;
  // Removes `discard` tokens behind the first `keep`; the tokens behind them move up. The sequence must not share
  // cells. False: this memory can't do it, and nothing changed. The sequence can't be saved before the next pass.
  virtual bool shift(std::int32_t /*sequence*/, std::uint32_t /*keep*/, std::uint32_t /*discard*/) { return false; }
  virtual bool can_shift() const { return false; }
  // Gives `to`, which is empty, the first `length` tokens of `from`: as shared cells in a unified layout, as copies in
  // a split one. Requires can_cut(from, length). False: too few cells, `to` is empty.
  virtual bool share(std::int32_t from, std::int32_t to, std::uint32_t length) = 0;

  // The sequence as bytes that every memory of the same model and cache types can restore, in any layout. Empty:
  // failed.
  virtual std::vector<std::uint8_t> save(std::int32_t sequence) = 0;
  // Restores saved bytes into an empty sequence. False if they don't fit or are of another model: it stays empty.
  virtual bool restore(std::int32_t sequence, std::span<const std::uint8_t> bytes) = 0;
};

// Allocates the memory of a worker. Errors: out_of_memory.
using KvMaker = std::function<Result<std::unique_ptr<KvMemory>>(KvShape)>;

// Size of a larger unified memory that holds `needed` cells: grown_context() (base/context_size.h) with the free memory
// of now. The current size: no growth.
using KvGrowth = std::function<std::uint32_t(const KvMemory& now, std::uint32_t needed)>;

}  // namespace corral::engine
