// What is known of the memory: what the last sample said, and what loads and instances have taken and given up since.
// Plain values, bytes everywhere.
#pragma once

#include <optional>
#include <vector>

#include "residency/event.h"
#include "residency/types.h"

namespace corral::residency {

struct Instance;

// Bytes of every memory, in the order of the books.
using PoolBytes = std::vector<std::int64_t>;

// Part of what a model uses.
enum class MemoryPart : std::uint8_t { all, dynamic };

class MemoryLedger {
 public:
  struct Pool {
    PoolId id;
    std::int64_t total = 0;
    std::int64_t available = 0;  // by the last sample, less what was taken since
    std::int64_t expected = 0;   // once everything that was given up has come back
    MonoTime back_by;            // what hasn't come back by then counts no more
  };

  // A sample came. Replaces everything but what is still expected back. `loading`: what a load that runs needs, of
  // which it has taken only part; so of these memories the sample can't say that more is available.
  void sample(const std::vector<PoolSample>& pools, const MemoryUse& loading, MonoTime now);
  // Bytes that are taken from now on, or were given up and come back until `back_by`.
  void take(const PoolBytes& bytes);
  void give_up(const PoolBytes& bytes, MonoTime back_by);

  // Something has changed that a new sample would show.
  void changed() { sampled_.reset(); }
  // When the sample was taken, while nothing is known to have changed since.
  const std::optional<MonoTime>& sampled() const { return sampled_; }
  bool is_fresh(MonoTime now, Millis oldest) const { return sampled_ && now - *sampled_ < oldest; }

  // While the answer to SampleMemory is on its way: since when.
  std::optional<MonoTime> asked;

  const std::vector<Pool>& pools() const { return pools_; }
  // `use` in the order of the books; memories that aren't measured are left out.
  PoolBytes bytes(const MemoryUse& use, MemoryPart part) const;
  // What `instance` gives up when it goes.
  PoolBytes held(const Instance& instance) const;
  // The part of it that a sample can't have shown as free already: an instance that was told to downsize may have done
  // so before it says so.
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
