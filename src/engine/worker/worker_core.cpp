#include "engine/worker/worker_core.h"

#include <algorithm>
#include <utility>

#include "engine/schedule/cpu_costs.h"
#include "engine/values/errors.h"

namespace corral::engine {

WorkerCore::WorkerCore(Parts parts, WorkerOptions options)
    : tokens_(parts.tokens),
      options_(options),
      make_(std::move(parts.make)),
      growth_(std::move(parts.growth)),
      box_(std::move(parts.box)),
      chores_(std::move(parts.chores)),
      explain_(std::move(parts.explain)),
      clock_(std::move(parts.clock)),
      costs_(parts.costs ? std::move(parts.costs) : std::make_unique<CpuCosts>()),
      drafter_(std::move(parts.drafter)),
      lane_(std::move(parts.lane)),
      memory_(std::move(parts.memory)),
      shape_(memory_->shape()),
      n_ctx_(memory_->n_ctx()),
      first_n_ctx_(n_ctx_),
      n_batch_(memory_->n_batch()),
      threads_(options.threads),
      given_(options.threads),
      sequences_(roster_, parts.store, options.prefix_cache_tokens),
      batch_(n_batch_),
      writer_(parts.tokens, clock_) {
  if (parts.store) {
    parts.store->when_read([box = box_, ended = reads_ended_] {
      ++*ended;
      box->wake();
    });
  }
  sequences_.bind(memory_.get());
  ahead_.reserve(options_.max_sequences);  // where no one session could be blamed for it
}

WorkerCore::~WorkerCore() = default;

bool WorkerCore::take_commands(bool wait) {
  const bool open = box_->take(commands_, wait, look_again_);
  for (Command& command : commands_) receive(command);
  commands_.clear();
  return open;
}

// Once more what an exception left undone: by then nothing is left that could throw again. Whoever was told that a
// session has ended must be right.
void WorkerCore::receive(Command& command) {
  const auto applied = [&] {
    return guarded(Blame::nobody, [&] { std::visit([this](auto& one) { apply(std::move(one)); }, command); });
  };
  if (applied()) return;
  const bool ends = std::holds_alternative<EndSession>(command) || std::holds_alternative<CancelGeneration>(command);
  if (ends) applied();
}

bool WorkerCore::round() {
  bool computed = false;
  if (!guarded(Blame::everybody, [&] { computed = step(); })) return true;  // who is left waits again
  return computed;
}

bool WorkerCore::step() {
  if (refusal_ && (refusal_->explained || clock_() >= refusal_->until)) {
    const auto one = std::exchange(refusal_, nullptr);
    out_of_memory(one->explained ? one->error : one->plain);
  }
  resume_paused();
  choose_memory();
  admit();
  while (end_computed()) admit();
  move_aside();
  share_threads();
  if (roster_.active().empty()) return false;
  compute_pass();
  return true;
}

// Those that sample nothing, when all is computed. True: somebody's place is free.
bool WorkerCore::end_computed() {
  const std::size_t before = roster_.active().size();
  for (std::size_t i = 0; i < roster_.active().size();) {
    Session& session = *roster_.active()[i];
    if (session.to_compute() > 0)
      ++i;
    else
      finish(session, StopReason::length);
  }
  return roster_.active().size() < before;
}

void WorkerCore::shut_down() {
  guarded(Blame::nobody, [this] {
    for (Session& session : roster_.all()) {
      if (session.generation) finish(session, StopReason::shutdown);
    }
    if (!options_.park_at_end) return;
    // What is of use to nobody else ends with its session; to park it would cost others their place.
    for (Session& session : roster_.all()) {
      if (!session.share) sequences_.remove(session);
    }
    sequences_.park_all();
  });
  // Those that it didn't come to.
  for (Session& session : roster_.all()) {
    if (session.generation) end(session, {.reason = StopReason::shutdown});
  }
}

void WorkerCore::apply(CreateSession&& command) { roster_.add(std::move(command.session), command.share); }

void WorkerCore::apply(AppendTokens&& command) {
  Session* const session = roster_.find(command.session);
  if (session == nullptr) return;
  session->touched = clock_();
  std::vector<Token>& to = session->generation ? session->appended : session->history;
  try {
    to.insert(to.end(), command.tokens.begin(), command.tokens.end());
  } catch (...) {
    session->lost_input = true;  // its next generation tells
  }
}

void WorkerCore::apply(StartGeneration&& command) {
  Session* const session = roster_.find(command.session);
  if (session == nullptr) {  // ended on another thread, a moment ago
    command.generation.ticket.release();
    Finish ended;
    ended.reason = StopReason::session_ended;
    command.generation.stream->finish(std::move(ended));
    return;
  }
  if (session->generation) guarded(Blame::nobody, [&] { finish(*session, StopReason::superseded); });
  in_hand_ = session;
  session->generation.emplace(std::move(command.generation));
  Generation& generation = *session->generation;
  generation.order = next_order_++;
  session->reads = {};
  generation.usage.prompt_tokens = static_cast<std::uint32_t>(session->history.size());
  ++counters_.generations;

  const std::uint32_t limit = session->shared->n_ctx;
  if (session->lost_input) {
    finish(*session, StopReason::error,
           Error(errc::worker_failed, "there was no memory for what was appended to this session: end it"));
  } else if (session->history.empty()) {
    finish(*session, StopReason::error,
           Error(errc::invalid_argument, "there is nothing to go on from: append input first"));
  } else if (session->history.size() >= limit && generation.max_new_tokens > 0) {
    finish(*session, StopReason::context_full,
           context_full({.needed = session->history.size() + 1, .n_past = session->history.size(), .n_ctx = limit}));
  } else {
    generation.sampler->prime(session->history);
    roster_.wait(*session);
  }
  in_hand_ = nullptr;
}

void WorkerCore::apply(CancelGeneration&& command) {
  Session* const session = roster_.find(command.session);
  if (session == nullptr || !session->generation) return;
  if (command.stream != nullptr && session->generation->stream.get() != command.stream) return;
  finish(*session, StopReason::cancelled);
}

void WorkerCore::apply(EndSession&& command) {
  Session* const session = roster_.find(command.session);
  if (session == nullptr) return;
  if (session->generation) finish(*session, StopReason::session_ended);
  if (drafter_) drafter_->forget(command.session);
  sequences_.remove(*session);
  roster_.remove(*session);
}

void WorkerCore::apply(Downsize&& command) {
  DownsizeReport report;
  if (!guarded(Blame::nobody, [&] { downsize(report); })) report = {};
  command.done(report);
}

void WorkerCore::downsize(DownsizeReport& report) {
  if (roster_.generating() == 0) {
    report.done = true;
    report.sessions = static_cast<std::uint32_t>(
        std::ranges::count_if(roster_.all(), [](const Session& session) { return session.sequence >= 0; }));
    const std::uint64_t before = sequences_.counters().parked_bytes;
    sequences_.park_all();
    sequences_.bind(nullptr);
    memory_.reset();
    no_split_ = false;
    no_room_.reset();
    no_growth_.reset();
    if (drafter_) drafter_->downsize();
    shape_ = {};
    n_ctx_ = first_n_ctx_;
    report.parked_bytes = sequences_.counters().parked_bytes - before;
  }
}

void WorkerCore::apply(SetThreads&& command) {
  threads_ = command;
  share_threads();
}

WorkerStats WorkerCore::stats() const {
  WorkerStats stats = counters_;
  const Sequences::Counters& moved = sequences_.counters();
  stats.parked = moved.parked;
  stats.restored = moved.restored;
  stats.parked_bytes = moved.parked_bytes;
  stats.restored_bytes = moved.restored_bytes;
  stats.sessions = static_cast<std::uint32_t>(roster_.size());
  stats.waiting = static_cast<std::uint32_t>(roster_.waiting().size());
  stats.generating = roster_.generating();
  stats.kv_cells = n_ctx_;
  // In a pool a cell that several share counts once.
  const bool pool = memory_ != nullptr && shape_.unified();
  stats.kv_used = pool ? memory_->n_ctx() - memory_->free_cells() : std::min(sequences_.used_cells(), n_ctx_);
  stats.kv_streams = shape_.streams;
  stats.downsized = memory_ == nullptr ? 1 : 0;
  stats.cached_prefixes = static_cast<std::uint32_t>(sequences_.kept_prefixes());
  return stats;
}

}  // namespace corral::engine
