// Owns the KV memory of a worker: shape, size, limit of growth. Allocates it when it is needed, and remembers a failed
// allocation, so that it is not retried at once. Knows no sessions: the caller saves what a memory holds before it is
// replaced. One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "engine/cache/sequences.h"
#include "engine/kv/kv_memory.h"
#include "engine/session/worker_options.h"
#include "engine/threads/background_executor.h"

namespace corral::engine {

class KvMemoryManager {
 public:
  // `memory` is what `make` made with the shape of one pool. `explain` says more of an out_of_memory of `make`; that
  // takes a while, so it is a chore, and `wake` is called on its thread when it is done: without `chores` nobody asks.
  // `growth`: needed where WorkerOptions::max_cells is.
  struct Parts {
    std::unique_ptr<KvMemory> memory;
    KvMaker make;
    KvGrowth growth = {};
    std::function<Error(const Error&, KvShape)> explain = {};
    std::shared_ptr<BackgroundExecutor> executor = nullptr;
    std::function<void()> wake = [] {};
    std::function<MonoTime()> clock = [] { return MonoClock::now(); };
  };
  // `sequences` always have the memory that there is.
  KvMemoryManager(Parts parts, const WorkerOptions& options, Sequences& sequences);

  bool there() const { return memory_ != nullptr; }
  // Where it is there.
  KvMemory& operator*() const { return *memory_; }
  KvMemory* operator->() const { return memory_.get(); }
  KvShape shape() const { return shape_; }  // of the one there is, or of the one to make
  // One for all sequences, with as many cells.
  KvShape pool() const { return {.streams = 0, .cells = shape_.cells}; }
  std::uint32_t cells() const { return cells_; }  // of a pool, now or when it is made
  bool grows() const { return options_.max_cells > first_cells_; }
  // There may be memory for a layout in parts.
  bool may_split() const { return !no_split_; }
  bool may_fill() const { return there() && memory_->takes_padding(); }
  SetThreads threads() const { return threads_; }
  void set_threads(SetThreads threads);

  enum class Ensured {
    there,
    made,        // just now; it is empty
    explaining,  // it can't be made, and it is being found out why: see take_refusal()
  };
  // Makes it if there is none: in this shape, in one pool if that can't be, as large as it was at first if that can't
  // be either. Errors: out_of_memory.
  Result<Ensured> ensure();
  // Why it couldn't be made: once, when that is known or has taken too long.
  std::optional<Error> take_refusal();
  // Then it has taken too long.
  std::optional<MonoTime> explained_until() const;

  // So many cells a larger pool would have, with room for `needed`. Nothing: there can be none, as far as is known.
  std::optional<std::uint32_t> growth(std::uint32_t needed);
  // One of so many couldn't be made.
  void growth_failed(std::uint32_t cells);

  // The memory goes, and the next one has this shape.
  void drop(KvShape next);
  // It goes, the next one is the first one again, and what couldn't be had is tried again.
  void downsize();
  // Something was left halfway: it goes with all that is known of its cells. The next one is the first one again.
  void start_over() noexcept;

 private:
  // A larger pool wasn't to be had from so many cells on; what is true for a while.
  struct NoGrowth {
    std::uint32_t from;
    MonoTime until;
  };
  // A chore finds out what was missing.
  struct Refusal {
    Refusal(Error cause, MonoTime end) : plain(cause), error(std::move(cause)), until(end) {}
    const Error plain;
    Error error;
    const MonoTime until;                 // then it is told as it is
    std::atomic<bool> explained = false;  // until then the chore's
  };
  Result<Ensured> refuse(Error error);
  bool in_vain(const std::optional<NoGrowth>& known, std::uint32_t cells) const;

  const WorkerOptions options_;
  const KvMaker make_;
  const KvGrowth growth_;
  const std::function<Error(const Error&, KvShape)> explain_;
  const std::shared_ptr<BackgroundExecutor> executor_;
  const std::function<void()> wake_;
  const std::function<MonoTime()> clock_;
  Sequences& sequences_;
  std::unique_ptr<KvMemory> memory_;
  KvShape shape_;
  const std::uint32_t first_cells_;
  std::uint32_t cells_;
  SetThreads threads_;
  bool no_split_ = false;
  std::optional<NoGrowth> no_room_;    // there is too little memory for one that holds so many
  std::optional<NoGrowth> no_growth_;  // one of so many couldn't be made
  std::shared_ptr<Refusal> refusal_;
};

}  // namespace corral::engine
