// Known state of the memory: the last sample, and what loads and instances have taken and released since. Plain values,
// in bytes.
#pragma once

#include <optional>
#include <vector>

#include "residency/event.h"
#include "residency/types.h"

namespace corral::residency {

struct Instance;

// Bytes of every pool, in the order of the ledger.
using PoolBytes = std::vector<std::int64_t>;

// Part of what a model uses.
enum class MemoryPart : std::uint8_t { all, dynamic };

class MemoryLedger {
 public:
  struct Pool {
    PoolId id;
    std::int64_t total = 0;
    std::int64_t available = 0;  // by the last sample, minus what was taken since
    std::int64_t expected = 0;   // the same after all released memory is free
    MonoTime back_by;            // released memory that isn't free by then is no longer expected
  };

  // Records a sample. Replaces everything except what is still expected. `loading`: need of the running load, which has
  // taken only a part of it; so the sample may not raise what is available in these pools.
  void sample(const std::vector<PoolSample>& pools, const MemoryUse& loading, MonoTime now);
  // Memory that is taken from now on, or was released and is expected to be free by `back_by`.
  void take(const PoolBytes& bytes);
  void give_up(const PoolBytes& bytes, MonoTime back_by);

  // A change that a new sample would show.
  void changed() { sampled_.reset(); }
  // When the sample was taken; empty after a change.
  const std::optional<MonoTime>& sampled() const { return sampled_; }
  bool is_fresh(MonoTime now, Millis oldest) const { return sampled_ && now - *sampled_ < oldest; }

  // When SampleMemory was sent, while its answer is pending.
  std::optional<MonoTime> asked;

  const std::vector<Pool>& pools() const { return pools_; }
  // `use` in the order of the ledger, without pools that aren't measured.
  PoolBytes bytes(const MemoryUse& use, MemoryPart part) const;
  // Memory that `instance` frees when it stops.
  PoolBytes held(const Instance& instance) const;
  // The part of it that no sample can have shown as free yet: an instance may have downsized before its answer arrives.
  PoolBytes surely_held(const Instance& instance) const;

 private:
  std::vector<Pool> pools_;
  std::optional<MonoTime> sampled_;
};

// Sums by pool.
void add(PoolBytes& to, const PoolBytes& more);
void subtract(PoolBytes& from, const PoolBytes& less);
// True when nothing is above zero.
bool none_left(const PoolBytes& bytes);

}  // namespace corral::residency
