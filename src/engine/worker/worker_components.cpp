#include "engine/worker/worker_components.h"

#include <algorithm>
#include <utility>

#include "engine/schedule/cpu_costs.h"

namespace corral::engine {

WorkerComponents::WorkerComponents(WorkerParts parts, const WorkerOptions& with)
    : options(with),
      box(std::move(parts.box)),
      clock(std::move(parts.clock)),
      costs(parts.costs ? std::move(parts.costs) : std::make_unique<CpuCosts>()),
      sequences(sessions, parts.store, options.prefix_cache_tokens),
      kv({.memory = std::move(parts.memory),
          .make = std::move(parts.make),
          .growth = std::move(parts.growth),
          .explain = std::move(parts.explain),
          .executor = parts.executor,
          .wake = [box = box] { box->wake(); },
          .clock = clock},
         options, sequences),
      batch(kv->n_batch()),
      writer(parts.tokens, clock),
      prompts(sessions, kv, *costs, batch, options.lane_tokens),
      lane({.lane = std::move(parts.lane),
            .step = [box = box](PrefillStep step) { box->post(step); },
            .clock = clock,
            .sessions = sessions,
            .sequences = sequences,
            .kv = kv,
            .costs = *costs,
            .prompts = prompts,
            .writer = writer,
            .faults = faults,
            .counters = counters},
           options),
      finisher({.clock = clock,
                .sessions = sessions,
                .sequences = sequences,
                .lane = lane,
                .writer = writer,
                .faults = faults}),
      media({.encoder = parts.media, .sessions = sessions, .finisher = finisher, .faults = faults}),
      migrator({.clock = clock,
                .executor = std::move(parts.executor),
                .sessions = sessions,
                .sequences = sequences,
                .kv = kv,
                .lane = lane,
                .costs = *costs,
                .prompts = prompts,
                .finisher = finisher,
                .counters = counters},
               options),
      admission({.clock = clock,
                 .reads_ended = reads_ended,
                 .sessions = sessions,
                 .sequences = sequences,
                 .kv = kv,
                 .migrator = migrator,
                 .lane = lane,
                 .finisher = finisher,
                 .media = media,
                 .faults = faults,
                 .counters = counters},
                options),
      planner({.sessions = sessions, .kv = kv, .costs = *costs, .prompts = prompts}, batch, options),
      speculator(std::move(parts.drafter), kv, *costs, batch, options),
      output({.tokens = parts.tokens,
              .clock = clock,
              .sessions = sessions,
              .sequences = sequences,
              .kv = kv,
              .writer = writer,
              .finisher = finisher,
              .faults = faults,
              .counters = counters},
             options),
      runner({.box = box,
              .clock = clock,
              .sessions = sessions,
              .sequences = sequences,
              .kv = kv,
              .costs = *costs,
              .writer = writer,
              .output = output,
              .finisher = finisher,
              .faults = faults,
              .counters = counters},
             batch) {
  if (parts.store) {
    parts.store->when_read([box = box, ended = reads_ended] {
      ++*ended;
      box->wake();
    });
  }
  if (parts.media) parts.media->when_encoded([box = box] { box->wake(); });
}

WorkerStats WorkerComponents::stats() const {
  WorkerStats stats = counters;
  const Parking::Counters& moved = sequences.counters();
  stats.parked = moved.parked;
  stats.restored = moved.restored;
  stats.parked_bytes = moved.parked_bytes;
  stats.restored_bytes = moved.restored_bytes;
  stats.sessions = static_cast<std::uint32_t>(sessions.size());
  stats.waiting = static_cast<std::uint32_t>(sessions.waiting().size());
  stats.generating = sessions.generating();
  stats.kv_cells = kv.cells();
  // In a unified layout a shared cell counts once.
  const bool pool = kv.there() && kv.shape().unified();
  stats.kv_used = pool ? kv->n_ctx() - kv->free_cells() : std::min(sequences.used_cells(), kv.cells());
  stats.kv_streams = kv.shape().streams;
  stats.downsized = kv.there() ? 0 : 1;
  stats.cached_prefixes = static_cast<std::uint32_t>(sequences.kept_prefixes());
  return stats;
}

}  // namespace corral::engine
