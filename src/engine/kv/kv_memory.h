// The memory of a worker and the forward pass over it, as the worker sees it: a libllama context (context.h), or a fake
// one in the simulation. One thread. A sequence holds tokens 0 .. length - 1 of one history.
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
  std::uint32_t streams = 0;  // 0: one pool for all sequences; else so many equal parts, one sequence each
  std::uint32_t cells = 0;    // of all together; 0: as many as the load began with
  bool unified() const { return streams == 0; }
  bool operator==(const KvShape&) const = default;
};

// libllama rounds the cells of a pool and of each part up to a multiple of this.
inline constexpr std::uint32_t kCellMultiple = 256;

// How a forward pass ended (llama_decode's return codes). In an indivisible memory one that was aborted leaves all
// sequences empty, also those that weren't in it; one that failed may.
enum class DecodeStatus {
  ok,
  no_room,  // no KV cells for it; nothing changed
  aborted,  // cut short; finished parts stay
  failed,   // bad batch or a compute error; finished parts may stay
};

class KvMemory {
 public:
  virtual ~KvMemory() = default;

  virtual DecodeStatus decode(const Batch& batch) = 0;
  // Logits of a token of the latest batch that was added with output; n_vocab floats, nullptr if there are none.
  virtual const float* logits(std::int32_t row) = 0;
  // What is computed from now on has these adapters; empty: those of the load, as at the beginning.
  virtual void set_adapters(const AdapterScales& /*scales*/) {}
  virtual void set_threads(std::int32_t n_threads, std::int32_t n_threads_batch) = 0;

  virtual KvShape shape() const = 0;
  virtual std::uint32_t n_ctx() const = 0;  // cells of all sequences together
  virtual std::uint32_t n_batch() const = 0;
  // Cells of a pool that no sequence has; in parts, see cells_per_sequence().
  virtual std::uint32_t free_cells() const = 0;
  // False: a sequence takes the same however long it is (a recurrent state), and free_cells() means nothing.
  virtual bool counts_cells() const { return true; }
  // Cells that these sequences have, shared ones once; and those that nobody but this one has, so that they are free
  // when it is cleared. Here: of a memory that shares none.
  virtual std::uint32_t cells_of(std::span<const std::int32_t> sequences) const {
    std::uint32_t cells = 0;
    for (const std::int32_t sequence : sequences) cells += length(sequence);
    return cells;
  }
  virtual std::uint32_t own_cells(std::int32_t sequence) const { return length(sequence); }
  // Sequence ids that may be used: first_sequence() .. first_sequence() + sequence_ids() - 1.
  virtual std::int32_t first_sequence() const = 0;
  virtual std::uint32_t sequence_ids() const = 0;
  // An id below these for what doesn't outlast a call (save() may use it) or a pass: empty otherwise; -1: there is
  // none.
  std::int32_t spare_sequence() const { return first_sequence() - 1; }
  // Rows that nobody wants can be put into a pass.
  bool takes_padding() const { return divisible() && (!shape().unified() || spare_sequence() >= 0); }
  // Most tokens that one sequence can hold.
  std::uint32_t cells_per_sequence() const { return shape().unified() ? n_ctx() : n_ctx() / shape().streams; }

  // Sequences can be cut back and share a beginning, where can_cut() says so; false: a sequence has one state for all
  // its tokens.
  virtual bool divisible() const = 0;
  // Whether so many of its tokens can be kept or shared: false where going on behind them takes cells that are gone
  // (sliding windows), or where nothing can be divided.
  virtual bool can_cut(std::int32_t /*sequence*/, std::uint32_t /*length*/) const { return divisible(); }
  virtual std::uint32_t length(std::int32_t sequence) const = 0;
  // Keeps the first `length` tokens. False if this kind of memory can't: the sequence is empty then.
  virtual bool trim(std::int32_t sequence, std::uint32_t length) = 0;
  virtual void clear(std::int32_t sequence) = 0;
  // Takes `discard` tokens out of a sequence behind the first `keep`; those behind them move up. All cells must be its
  // own. False: this kind of memory can't, and nothing changed. It can't be saved before the next pass.
  virtual bool shift(std::int32_t /*sequence*/, std::uint32_t /*keep*/, std::uint32_t /*discard*/) { return false; }
  virtual bool can_shift() const { return false; }
  // Gives `to` (empty) the first `length` tokens of `from`: shared cells in a unified layout, copied ones in a split
  // one. Only if can_cut(from, length). False if there is no room: `to` is empty then.
  virtual bool share(std::int32_t from, std::int32_t to, std::uint32_t length) = 0;

  // A sequence as bytes that each memory of the same model and cache types takes, whatever its shape. Empty: failed.
  virtual std::vector<std::uint8_t> save(std::int32_t sequence) = 0;
  // Puts saved bytes into an empty sequence. False if they don't fit or aren't of this model: it stays empty.
  virtual bool restore(std::int32_t sequence, std::span<const std::uint8_t> bytes) = 0;
};

// Makes a worker's memory anew. Errors: out_of_memory.
using KvMaker = std::function<Result<std::unique_ptr<KvMemory>>(KvShape)>;

// How many cells a pool in the place of this one may have, to hold `needed`: grown_context() (base/context_size.h) with
// what memory is free now. As many as it has: no more.
using KvGrowth = std::function<std::uint32_t(const KvMemory& now, std::uint32_t needed)>;

}  // namespace corral::engine
