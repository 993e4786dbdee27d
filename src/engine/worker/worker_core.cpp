#include "engine/worker/worker_core.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "engine/values/errors.h"

namespace corral::engine {

WorkerCore::WorkerCore(Parts parts, WorkerOptions options) : components_(std::move(parts), options) {}

WorkerCore::~WorkerCore() = default;

bool WorkerCore::take_commands(bool wait) {
  const bool open = components_.box->take(commands_, wait, components_.admission.look_again());
  for (Command& command : commands_) receive(command);
  commands_.clear();
  return open;
}

// Retries a command that an exception interrupted: after the recovery it can't throw again. A caller to which the end
// of a session was reported must be right.
void WorkerCore::receive(Command& command) {
  const auto applied = [&] {
    return guarded(Blame::none, [&] { std::visit([this](auto& one) { apply(std::move(one)); }, command); });
  };
  if (applied()) return;
  const bool ends = std::holds_alternative<EndSession>(command) || std::holds_alternative<CancelGeneration>(command);
  if (ends) applied();
}

bool WorkerCore::round() {
  bool computed = false;
  if (!guarded(Blame::all, [&] { computed = step(); })) return true;  // the other sessions wait again
  return computed;
}

bool WorkerCore::step() {
  components_.migrator.report_refusal();
  components_.admission.resume_paused();
  components_.migrator.choose_layout();
  components_.admission.admit();
  while (end_computed()) components_.admission.admit();
  components_.media.send_to_wait();
  components_.lane.move_aside();
  components_.lane.share_threads();
  if (components_.sessions.active().empty()) return false;
  compute_pass();
  return true;
}

// Ends generations that sample nothing once all their tokens are computed. True: a session is no longer active.
bool WorkerCore::end_computed() {
  const std::size_t before = components_.sessions.active().size();
  for (std::size_t i = 0; i < components_.sessions.active().size();) {
    Session& session = *components_.sessions.active()[i];
    if (session.to_compute() > 0)
      ++i;
    else
      components_.finisher.finish(session, FinishReason::length);
  }
  return components_.sessions.active().size() < before;
}

void WorkerCore::compute_pass() {
  for (;;) {
    components_.sequences.compact();
    components_.planner.plan(components_.pass);
    if (components_.pass.items.empty()) return;  // all have lost cells, and wait for embeddings in the next round
    if (components_.admission.find_cells(components_.pass)) break;
    components_.admission.make_room();
    if (components_.sessions.active().empty()) return;
  }
  components_.speculator.add(components_.pass, components_.sessions.active().size());
  components_.planner.fill_up(components_.pass);
  components_.sessions.next_pass();
  if (!components_.runner.run(components_.pass)) components_.admission.make_room();
}

void WorkerCore::shut_down() {
  guarded(Blame::none, [this] {
    for (Session& session : components_.sessions.all()) {
      if (session.generation) components_.finisher.finish(session, FinishReason::shutdown);
    }
    if (!components_.options.park_at_end) return;
    // KV of sessions that don't share ends with them: parking it would evict KV of others.
    for (Session& session : components_.sessions.all()) {
      if (!session.share) components_.sequences.remove(session);
    }
    components_.sequences.park_all();
  });
  // Generations that an exception left out.
  for (Session& session : components_.sessions.all()) {
    if (session.generation) components_.finisher.shut_down(session);
  }
}

void WorkerCore::apply(CreateSession&& command) { components_.sessions.add(std::move(command.session), command.share); }

void WorkerCore::apply(AppendTokens&& command) {
  Session* const session = components_.sessions.find(command.session);
  if (session == nullptr) return;
  session->touched = components_.clock();
  // A session with pictures or sounds gets them before its first generation.
  if (session->generation && !command.media.empty()) session->lost_input = true;
  std::vector<Token>& to = session->generation ? session->appended : session->history;
  try {
    for (MediaSpan& span : command.media) span.begin += static_cast<std::uint32_t>(to.size());
    session->media.insert(session->media.end(), command.media.begin(), command.media.end());
    to.insert(to.end(), command.tokens.begin(), command.tokens.end());
  } catch (...) {
    session->lost_input = true;  // its next generation fails with that cause
  }
}

// A sampler knows tokens only.
void WorkerCore::prime(Generation& generation, const Session& session) {
  if (session.media.empty()) return generation.sampler->prime(session.history);
  std::vector<Token> tokens;
  std::ranges::remove_copy_if(session.history, std::back_inserter(tokens), is_media);
  generation.sampler->prime(tokens);
}

void WorkerCore::apply(StartGeneration&& command) {
  Session* const session = components_.sessions.find(command.session);
  if (session == nullptr) {  // another thread has just ended it
    command.generation.ticket.release();
    Finish ended;
    ended.reason = FinishReason::session_ended;
    command.generation.stream->finish(std::move(ended));
    return;
  }
  if (session->generation)
    guarded(Blame::none, [&] { components_.finisher.finish(*session, FinishReason::superseded); });
  components_.faults.session = session;
  session->generation.emplace(std::move(command.generation));
  Generation& generation = *session->generation;
  session->reads = {};
  generation.usage.prompt_tokens = static_cast<std::uint32_t>(session->history.size());
  ++components_.counters.generations;

  const std::uint32_t limit = session->shared->n_ctx;
  if (session->lost_input) {
    components_.finisher.finish(
        *session, FinishReason::error,
        Error(errc::worker_failed, "there was no memory for input that was appended to this session: end it"));
  } else if (session->history.empty()) {
    components_.finisher.finish(*session, FinishReason::error,
                                Error(errc::invalid_argument, "the session has no tokens: append input first"));
  } else if (is_media(session->history.back())) {
    components_.finisher.finish(
        *session, FinishReason::error,
        Error(errc::invalid_argument, "the input ends with a picture or sound: append text behind it"));
  } else if (session->history.size() >= limit && generation.max_new_tokens > 0) {
    components_.finisher.finish(
        *session, FinishReason::context_full,
        context_full({.needed = session->history.size() + 1, .n_past = session->history.size(), .n_ctx = limit}));
  } else {
    prime(generation, *session);
    components_.sessions.line_up(generation);
    components_.sessions.wait(*session);
  }
  components_.faults.session = nullptr;
}

void WorkerCore::apply(CancelGeneration&& command) {
  Session* const session = components_.sessions.find(command.session);
  if (session == nullptr || !session->generation) return;
  if (command.stream != nullptr && session->generation->stream.get() != command.stream) return;
  components_.finisher.finish(*session, FinishReason::cancelled);
}

void WorkerCore::apply(EndSession&& command) {
  Session* const session = components_.sessions.find(command.session);
  if (session == nullptr) return;
  if (session->generation) components_.finisher.finish(*session, FinishReason::session_ended);
  components_.speculator.forget(command.session);
  components_.sequences.remove(*session);
  components_.sessions.remove(*session);
}

void WorkerCore::apply(Downsize&& command) {
  DownsizeReport report;
  if (!guarded(Blame::none, [&] { downsize(report); })) report = {};
  command.done(report);
}

void WorkerCore::downsize(DownsizeReport& report) {
  if (components_.sessions.generating() == 0) {
    report.done = true;
    report.sessions = static_cast<std::uint32_t>(std::ranges::count_if(
        components_.sessions.all(), [](const Session& session) { return session.sequence >= 0; }));
    const std::uint64_t before = components_.sequences.counters().parked_bytes;
    components_.sequences.park_all();
    components_.kv.downsize();
    components_.speculator.downsize();
    report.parked_bytes = components_.sequences.counters().parked_bytes - before;
  }
}

void WorkerCore::apply(SetThreads&& command) { components_.lane.set_threads(command); }

void WorkerCore::apply(PrefillStep&& step) { components_.lane.report(step); }

void WorkerCore::apply(PrefillResult&& result) {
  if (auto home = components_.lane.take(std::move(result))) components_.admission.take_home(std::move(*home));
}

void WorkerCore::apply(DescribeSessions&& command) {
  try {
    command.to->add(sessions(command.worker));
  } catch (const std::bad_alloc&) {  // the caller gets the views of the other workers; nothing has changed
  }
}

}  // namespace corral::engine
