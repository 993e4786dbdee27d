#include "engine/worker/worker_core.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/values/errors.h"

namespace corral::engine {

WorkerCore::WorkerCore(Parts parts, WorkerOptions options) : crew_(std::move(parts), options) {}

WorkerCore::~WorkerCore() = default;

bool WorkerCore::take_commands(bool wait) {
  const bool open = crew_.box->take(commands_, wait, crew_.places.look_again());
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
  crew_.mover.tell_refusal();
  crew_.places.resume_paused();
  crew_.mover.choose_layout();
  crew_.places.admit();
  while (end_computed()) crew_.places.admit();
  crew_.lane.move_aside();
  crew_.lane.share_threads();
  if (crew_.roster.active().empty()) return false;
  compute_pass();
  return true;
}

// Those that sample nothing, when all is computed. True: somebody's place is free.
bool WorkerCore::end_computed() {
  const std::size_t before = crew_.roster.active().size();
  for (std::size_t i = 0; i < crew_.roster.active().size();) {
    Session& session = *crew_.roster.active()[i];
    if (session.to_compute() > 0)
      ++i;
    else
      crew_.endings.finish(session, StopReason::length);
  }
  return crew_.roster.active().size() < before;
}

void WorkerCore::compute_pass() {
  for (;;) {
    crew_.sequences.compact();
    crew_.planner.plan(crew_.pass);
    if (crew_.places.find_cells(crew_.pass)) break;
    crew_.places.make_room();
    if (crew_.roster.active().empty()) return;
  }
  crew_.guesser.add(crew_.pass, crew_.roster.active().size());
  crew_.planner.fill_up(crew_.pass);
  crew_.roster.next_pass();
  if (!crew_.runner.run(crew_.pass)) crew_.places.make_room();
}

void WorkerCore::shut_down() {
  guarded(Blame::nobody, [this] {
    for (Session& session : crew_.roster.all()) {
      if (session.generation) crew_.endings.finish(session, StopReason::shutdown);
    }
    if (!crew_.options.park_at_end) return;
    // What is of use to nobody else ends with its session; to park it would cost others their place.
    for (Session& session : crew_.roster.all()) {
      if (!session.share) crew_.sequences.remove(session);
    }
    crew_.sequences.park_all();
  });
  // Those that it didn't come to.
  for (Session& session : crew_.roster.all()) {
    if (session.generation) crew_.endings.shut_down(session);
  }
}

void WorkerCore::apply(CreateSession&& command) { crew_.roster.add(std::move(command.session), command.share); }

void WorkerCore::apply(AppendTokens&& command) {
  Session* const session = crew_.roster.find(command.session);
  if (session == nullptr) return;
  session->touched = crew_.clock();
  std::vector<Token>& to = session->generation ? session->appended : session->history;
  try {
    to.insert(to.end(), command.tokens.begin(), command.tokens.end());
  } catch (...) {
    session->lost_input = true;  // its next generation tells
  }
}

void WorkerCore::apply(StartGeneration&& command) {
  Session* const session = crew_.roster.find(command.session);
  if (session == nullptr) {  // ended on another thread, a moment ago
    command.generation.ticket.release();
    Finish ended;
    ended.reason = StopReason::session_ended;
    command.generation.stream->finish(std::move(ended));
    return;
  }
  if (session->generation) guarded(Blame::nobody, [&] { crew_.endings.finish(*session, StopReason::superseded); });
  crew_.hand.session = session;
  session->generation.emplace(std::move(command.generation));
  Generation& generation = *session->generation;
  session->reads = {};
  generation.usage.prompt_tokens = static_cast<std::uint32_t>(session->history.size());
  ++crew_.counters.generations;

  const std::uint32_t limit = session->shared->n_ctx;
  if (session->lost_input) {
    crew_.endings.finish(
        *session, StopReason::error,
        Error(errc::worker_failed, "there was no memory for what was appended to this session: end it"));
  } else if (session->history.empty()) {
    crew_.endings.finish(*session, StopReason::error,
                         Error(errc::invalid_argument, "there is nothing to go on from: append input first"));
  } else if (session->history.size() >= limit && generation.max_new_tokens > 0) {
    crew_.endings.finish(
        *session, StopReason::context_full,
        context_full({.needed = session->history.size() + 1, .n_past = session->history.size(), .n_ctx = limit}));
  } else {
    generation.sampler->prime(session->history);
    crew_.roster.line_up(generation);
    crew_.roster.wait(*session);
  }
  crew_.hand.session = nullptr;
}

void WorkerCore::apply(CancelGeneration&& command) {
  Session* const session = crew_.roster.find(command.session);
  if (session == nullptr || !session->generation) return;
  if (command.stream != nullptr && session->generation->stream.get() != command.stream) return;
  crew_.endings.finish(*session, StopReason::cancelled);
}

void WorkerCore::apply(EndSession&& command) {
  Session* const session = crew_.roster.find(command.session);
  if (session == nullptr) return;
  if (session->generation) crew_.endings.finish(*session, StopReason::session_ended);
  crew_.guesser.forget(command.session);
  crew_.sequences.remove(*session);
  crew_.roster.remove(*session);
}

void WorkerCore::apply(Downsize&& command) {
  DownsizeReport report;
  if (!guarded(Blame::nobody, [&] { downsize(report); })) report = {};
  command.done(report);
}

void WorkerCore::downsize(DownsizeReport& report) {
  if (crew_.roster.generating() == 0) {
    report.done = true;
    report.sessions = static_cast<std::uint32_t>(
        std::ranges::count_if(crew_.roster.all(), [](const Session& session) { return session.sequence >= 0; }));
    const std::uint64_t before = crew_.sequences.counters().parked_bytes;
    crew_.sequences.park_all();
    crew_.keeper.downsize();
    crew_.guesser.downsize();
    report.parked_bytes = crew_.sequences.counters().parked_bytes - before;
  }
}

void WorkerCore::apply(SetThreads&& command) { crew_.lane.set_threads(command); }

void WorkerCore::apply(PrefillStep&& step) { crew_.lane.tell(step); }

void WorkerCore::apply(PrefillResult&& result) {
  if (auto home = crew_.lane.take(std::move(result))) crew_.places.take_home(std::move(*home));
}

void WorkerCore::apply(DescribeSessions&& command) {
  try {
    command.to->add(sessions(command.worker));
  } catch (const std::bad_alloc&) {  // whoever asked hears of the others; nothing was changed
  }
}

}  // namespace corral::engine
