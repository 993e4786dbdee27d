#include "engine/worker/crew.h"

#include <algorithm>
#include <utility>

#include "engine/schedule/cpu_costs.h"

namespace corral::engine {

Crew::Crew(WorkerParts parts, const WorkerOptions& with)
    : options(with),
      box(std::move(parts.box)),
      clock(std::move(parts.clock)),
      costs(parts.costs ? std::move(parts.costs) : std::make_unique<CpuCosts>()),
      sequences(roster, parts.store, options.prefix_cache_tokens),
      keeper({.memory = std::move(parts.memory),
              .make = std::move(parts.make),
              .growth = std::move(parts.growth),
              .explain = std::move(parts.explain),
              .chores = parts.chores,
              .wake = [box = box] { box->wake(); },
              .clock = clock},
             options, sequences),
      batch(keeper->n_batch()),
      writer(parts.tokens, clock),
      prompts(roster, keeper, *costs, batch, options.lane_tokens),
      lane({.lane = std::move(parts.lane),
            .step = [box = box](PrefillStep step) { box->post(step); },
            .clock = clock,
            .roster = roster,
            .sequences = sequences,
            .keeper = keeper,
            .costs = *costs,
            .prompts = prompts,
            .writer = writer,
            .hand = hand,
            .counters = counters},
           options),
      endings({.clock = clock, .roster = roster, .sequences = sequences, .lane = lane, .writer = writer, .hand = hand}),
      mover({.clock = clock,
             .chores = std::move(parts.chores),
             .roster = roster,
             .sequences = sequences,
             .keeper = keeper,
             .lane = lane,
             .costs = *costs,
             .prompts = prompts,
             .endings = endings,
             .counters = counters},
            options),
      places({.clock = clock,
              .reads_ended = reads_ended,
              .roster = roster,
              .sequences = sequences,
              .keeper = keeper,
              .mover = mover,
              .lane = lane,
              .endings = endings,
              .hand = hand,
              .counters = counters},
             options),
      planner({.roster = roster, .keeper = keeper, .costs = *costs, .prompts = prompts}, batch, options),
      guesser(std::move(parts.drafter), keeper, *costs, batch, options),
      taker({.tokens = parts.tokens,
             .clock = clock,
             .roster = roster,
             .sequences = sequences,
             .keeper = keeper,
             .writer = writer,
             .endings = endings,
             .hand = hand,
             .counters = counters},
            options),
      runner({.box = box,
              .clock = clock,
              .roster = roster,
              .sequences = sequences,
              .keeper = keeper,
              .costs = *costs,
              .writer = writer,
              .taker = taker,
              .endings = endings,
              .hand = hand,
              .counters = counters},
             batch) {
  if (parts.store) {
    parts.store->when_read([box = box, ended = reads_ended] {
      ++*ended;
      box->wake();
    });
  }
}

WorkerStats Crew::stats() const {
  WorkerStats stats = counters;
  const Parking::Counters& moved = sequences.counters();
  stats.parked = moved.parked;
  stats.restored = moved.restored;
  stats.parked_bytes = moved.parked_bytes;
  stats.restored_bytes = moved.restored_bytes;
  stats.sessions = static_cast<std::uint32_t>(roster.size());
  stats.waiting = static_cast<std::uint32_t>(roster.waiting().size());
  stats.generating = roster.generating();
  stats.kv_cells = keeper.cells();
  // In a pool a cell that several share counts once.
  const bool pool = keeper.there() && keeper.shape().unified();
  stats.kv_used = pool ? keeper->n_ctx() - keeper->free_cells() : std::min(sequences.used_cells(), keeper.cells());
  stats.kv_streams = keeper.shape().streams;
  stats.downsized = keeper.there() ? 0 : 1;
  stats.cached_prefixes = static_cast<std::uint32_t>(sequences.kept_prefixes());
  return stats;
}

}  // namespace corral::engine
