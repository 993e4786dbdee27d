#include "engine/schedule/prefill_lane.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "engine/kv/batch.h"
#include "engine/schedule/scheduler.h"

namespace corral::engine {

PrefillResult run_prefill(PrefillJob job, const LaneMemoryMaker& make, LaneControl control) {
  const MonoTime begin = MonoClock::now();
  const auto size = static_cast<std::uint32_t>(job.tokens.size());
  PrefillResult result;
  const auto made = make(size, control.stop);
  if (!made) return result;
  KvMemory& memory = **made;
  const std::int32_t sequence = memory.first_sequence();
  std::uint32_t done = job.cached;
  if (done > 0 && !memory.restore(sequence, *job.bytes)) done = 0;
  job.bytes.reset();

  Batch batch(memory.n_batch());
  bool whole = true;
  while (done < size && !control.stop) {
    const std::int32_t n_threads = control.n_threads;
    memory.set_threads(n_threads, n_threads);
    batch.clear();
    const std::uint32_t chunk = std::min(batch.capacity(), size - done);
    for (std::uint32_t i = 0; i < chunk; ++i) batch.add(job.tokens[done + i], done + i, sequence, false);
    whole = memory.decode(batch) == DecodeStatus::ok;
    if (!whole) break;
    done += chunk;
    if (job.computed) job.computed(done);
  }
  if (control.stop) return result;
  // A failed pass may have left tokens, which can't be removed from a single state.
  if (done > job.cached && (whole || (memory.divisible() && memory.trim(sequence, done)))) {
    if (auto bytes = memory.save(sequence); !bytes.empty()) {
      result.computed = done - job.cached;
      result.tokens = done;
      result.bytes = std::move(bytes);
    }
  }
  result.ms = std::chrono::duration<double, std::milli>(MonoClock::now() - begin).count();
  return result;
}

bool belongs_in_lane(const LaneView& view) {
  return view.decoding > 0 && view.pending >= view.least && view.allowance > 0 && view.allowance < PrefillPacer::kLarge;
}

}  // namespace corral::engine
