// Owns the KV memory of a worker: shape, size, limit of growth. Allocates it on demand, and does not retry a failed
// allocation at once. Does not know sessions: the caller saves the contents before the memory is replaced. One thread.
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
  // `memory` was made by `make` with a unified layout. `explain` finds the cause of an out_of_memory of `make`. That
  // takes a while, so it runs on `executor`, which then calls `wake` on its thread; without `executor` no cause is
  // sought. `growth` is required if WorkerOptions::max_cells is set.
  struct Parts {
    std::unique_ptr<KvMemory> memory;
    KvMaker make;
    KvGrowth growth = {};
    std::function<Error(const Error&, KvShape)> explain = {};
    std::shared_ptr<BackgroundExecutor> executor = nullptr;
    std::function<void()> wake = [] {};
    std::function<MonoTime()> clock = [] { return MonoClock::now(); };
  };
  // `sequences` is always bound to the current memory.
  KvMemoryManager(Parts parts, const WorkerOptions& options, Sequences& sequences);

  bool there() const { return memory_ != nullptr; }
  // Requires there().
  KvMemory& operator*() const { return *memory_; }
  KvMemory* operator->() const { return memory_.get(); }
  KvShape shape() const { return shape_; }  // of the current memory, or of the next one
  // A unified layout with as many cells.
  KvShape pool() const { return {.streams = 0, .cells = shape_.cells}; }
  std::uint32_t cells() const { return cells_; }  // of a unified layout, current or next
  bool grows() const { return options_.max_cells > first_cells_; }
  // A split layout may be tried.
  bool may_split() const { return !no_split_; }
  bool may_fill() const { return there() && memory_->takes_padding(); }
  SetThreads threads() const { return threads_; }
  void set_threads(SetThreads threads);

  enum class Ensured {
    there,
    made,        // allocated by this call; it is empty
    explaining,  // the allocation failed, and the cause is being sought: see take_refusal()
  };
  // Allocates the memory if there is none. Tries the current shape, then a unified layout, then the size of the first
  // memory. Errors: out_of_memory.
  Result<Ensured> ensure();
  // The cause of the failed allocation: once, when it is known or the search has taken too long.
  std::optional<Error> take_refusal();
  // Deadline of that search.
  std::optional<MonoTime> explained_until() const;

  // Size of a larger unified memory that can hold `needed` cells. None: growth is not possible, as far as is known.
  std::optional<std::uint32_t> growth(std::uint32_t needed);
  // An allocation of so many cells failed.
  void growth_failed(std::uint32_t cells);

  // Frees the memory; the next one has this shape.
  void drop(KvShape next);
  // Frees the memory; the next one has the first shape and size. Forgets failed allocations.
  void downsize();
  // After an interrupted change: frees the memory and all records of its cells. The next one has the first shape and
  // size.
  void start_over() noexcept;

 private:
  // Growth to this many cells or more failed; valid for a while.
  struct NoGrowth {
    std::uint32_t from;
    MonoTime until;
  };
  // A failed allocation whose cause a background task seeks.
  struct Refusal {
    Refusal(Error cause, MonoTime end) : plain(cause), error(std::move(cause)), until(end) {}
    const Error plain;
    Error error;
    const MonoTime until;                 // then the plain error is reported
    std::atomic<bool> explained = false;  // until then only the background task uses `error`
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
  std::optional<NoGrowth> no_room_;    // free memory was too small for so many cells
  std::optional<NoGrowth> no_growth_;  // an allocation of so many cells failed
  std::shared_ptr<Refusal> refusal_;
};

}  // namespace corral::engine
