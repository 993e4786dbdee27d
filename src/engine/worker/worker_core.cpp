#include "engine/worker/worker_core.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/schedule/cpu_costs.h"
#include "engine/values/errors.h"

namespace corral::engine {

WorkerCore::WorkerCore(Parts parts, WorkerOptions options)
    : options_(options),
      box_(std::move(parts.box)),
      clock_(std::move(parts.clock)),
      costs_(parts.costs ? std::move(parts.costs) : std::make_unique<CpuCosts>()),
      sequences_(roster_, parts.store, options.prefix_cache_tokens),
      keeper_({.memory = std::move(parts.memory),
               .make = std::move(parts.make),
               .growth = std::move(parts.growth),
               .explain = std::move(parts.explain),
               .chores = parts.chores,
               .wake = [box = box_] { box->wake(); },
               .clock = clock_},
              options, sequences_),
      writer_(parts.tokens, clock_),
      prompts_(roster_, keeper_, *costs_, keeper_->n_batch(), options.lane_tokens),
      lane_({.lane = std::move(parts.lane),
             .step = [box = box_](PrefillStep step) { box->post(step); },
             .clock = clock_,
             .roster = roster_,
             .sequences = sequences_,
             .keeper = keeper_,
             .costs = *costs_,
             .prompts = prompts_,
             .writer = writer_,
             .hand = hand_,
             .counters = counters_},
            options),
      endings_({.clock = clock_,
                .roster = roster_,
                .sequences = sequences_,
                .lane = lane_,
                .writer = writer_,
                .hand = hand_}),
      mover_({.clock = clock_,
              .chores = std::move(parts.chores),
              .roster = roster_,
              .sequences = sequences_,
              .keeper = keeper_,
              .lane = lane_,
              .costs = *costs_,
              .prompts = prompts_,
              .endings = endings_,
              .counters = counters_},
             options),
      places_({.clock = clock_,
               .reads_ended = reads_ended_,
               .roster = roster_,
               .sequences = sequences_,
               .keeper = keeper_,
               .mover = mover_,
               .lane = lane_,
               .endings = endings_,
               .hand = hand_,
               .counters = counters_},
              options),
      planner_({.roster = roster_, .keeper = keeper_, .costs = *costs_, .prompts = prompts_}, keeper_->n_batch(),
               options),
      guesser_(std::move(parts.drafter), keeper_, *costs_, keeper_->n_batch(), options),
      taker_({.tokens = parts.tokens,
              .clock = clock_,
              .roster = roster_,
              .sequences = sequences_,
              .keeper = keeper_,
              .writer = writer_,
              .endings = endings_,
              .hand = hand_,
              .counters = counters_},
             options),
      runner_({.box = box_,
               .clock = clock_,
               .roster = roster_,
               .sequences = sequences_,
               .keeper = keeper_,
               .costs = *costs_,
               .writer = writer_,
               .taker = taker_,
               .endings = endings_,
               .hand = hand_,
               .counters = counters_},
              keeper_->n_batch()) {
  if (parts.store) {
    parts.store->when_read([box = box_, ended = reads_ended_] {
      ++*ended;
      box->wake();
    });
  }
}

WorkerCore::~WorkerCore() = default;

bool WorkerCore::take_commands(bool wait) {
  const bool open = box_->take(commands_, wait, places_.look_again());
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
  mover_.tell_refusal();
  places_.resume_paused();
  mover_.choose_layout();
  places_.admit();
  while (end_computed()) places_.admit();
  lane_.move_aside();
  lane_.share_threads();
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
      endings_.finish(session, StopReason::length);
  }
  return roster_.active().size() < before;
}

void WorkerCore::compute_pass() {
  for (;;) {
    sequences_.compact();
    planner_.plan(pass_);
    if (places_.find_cells(pass_)) break;
    places_.make_room();
    if (roster_.active().empty()) return;
  }
  guesser_.add(pass_, roster_.active().size());
  planner_.fill_up(pass_);
  roster_.next_pass();
  if (!runner_.run(pass_)) places_.make_room();
}

void WorkerCore::shut_down() {
  guarded(Blame::nobody, [this] {
    for (Session& session : roster_.all()) {
      if (session.generation) endings_.finish(session, StopReason::shutdown);
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
    if (session.generation) endings_.shut_down(session);
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
  if (session->generation) guarded(Blame::nobody, [&] { endings_.finish(*session, StopReason::superseded); });
  hand_.session = session;
  session->generation.emplace(std::move(command.generation));
  Generation& generation = *session->generation;
  generation.order = next_order_++;
  session->reads = {};
  generation.usage.prompt_tokens = static_cast<std::uint32_t>(session->history.size());
  ++counters_.generations;

  const std::uint32_t limit = session->shared->n_ctx;
  if (session->lost_input) {
    endings_.finish(*session, StopReason::error,
                    Error(errc::worker_failed, "there was no memory for what was appended to this session: end it"));
  } else if (session->history.empty()) {
    endings_.finish(*session, StopReason::error,
                    Error(errc::invalid_argument, "there is nothing to go on from: append input first"));
  } else if (session->history.size() >= limit && generation.max_new_tokens > 0) {
    endings_.finish(
        *session, StopReason::context_full,
        context_full({.needed = session->history.size() + 1, .n_past = session->history.size(), .n_ctx = limit}));
  } else {
    generation.sampler->prime(session->history);
    roster_.wait(*session);
  }
  hand_.session = nullptr;
}

void WorkerCore::apply(CancelGeneration&& command) {
  Session* const session = roster_.find(command.session);
  if (session == nullptr || !session->generation) return;
  if (command.stream != nullptr && session->generation->stream.get() != command.stream) return;
  endings_.finish(*session, StopReason::cancelled);
}

void WorkerCore::apply(EndSession&& command) {
  Session* const session = roster_.find(command.session);
  if (session == nullptr) return;
  if (session->generation) endings_.finish(*session, StopReason::session_ended);
  guesser_.forget(command.session);
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
    keeper_.downsize();
    guesser_.downsize();
    report.parked_bytes = sequences_.counters().parked_bytes - before;
  }
}

void WorkerCore::apply(SetThreads&& command) { lane_.set_threads(command); }

void WorkerCore::apply(PrefillStep&& step) { lane_.tell(step); }

void WorkerCore::apply(PrefillResult&& result) {
  if (auto home = lane_.take(std::move(result))) places_.take_home(std::move(*home));
}

void WorkerCore::apply(DescribeSessions&& command) {
  try {
    command.to->add(sessions(command.worker));
  } catch (const std::bad_alloc&) {  // whoever asked hears of the others; nothing was changed
  }
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
  stats.kv_cells = keeper_.cells();
  // In a pool a cell that several share counts once.
  const bool pool = keeper_.there() && keeper_.shape().unified();
  stats.kv_used = pool ? keeper_->n_ctx() - keeper_->free_cells() : std::min(sequences_.used_cells(), keeper_.cells());
  stats.kv_streams = keeper_.shape().streams;
  stats.downsized = keeper_.there() ? 0 : 1;
  stats.cached_prefixes = static_cast<std::uint32_t>(sequences_.kept_prefixes());
  return stats;
}

}  // namespace corral::engine
