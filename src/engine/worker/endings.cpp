#include "engine/worker/endings.h"

#include <utility>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

// Enough to make others be preferred, little enough that it is tried again beside busy ones.
constexpr std::uint32_t kMostFailures = 8;

}  // namespace

Endings::Endings(Parts parts)
    : clock_(std::move(parts.clock)),
      roster_(parts.roster),
      sequences_(parts.sequences),
      lane_(parts.lane),
      writer_(parts.writer),
      hand_(parts.hand) {}

// What a client ends says nothing about the worker.
void Endings::count(StopReason reason) {
  if (reason == StopReason::stop || reason == StopReason::length) failed_in_row_ = 0;
  if (reason == StopReason::error && failed_in_row_ < kMostFailures) ++failed_in_row_;
}

void Endings::finish(Session& session, StopReason reason, std::optional<Error> error, std::string stop_string) {
  Session* const hand = std::exchange(hand_.session, &session);
  writer_.flush(session);
  if (session.phase() == Phase::aside) lane_.give_up(session);
  roster_.rest(session);
  roster_.use(session);
  session.suspect_until = 0;
  sequences_.settle(session);
  // Behind this nothing can fail: fail() would take it for what the stream wasn't told.
  session.history.insert(session.history.end(), session.appended.begin(), session.appended.end());
  session.appended.clear();
  count(reason);
  end(session, {.reason = reason, .stop_string = std::move(stop_string), .error = std::move(error)});
  hand_.session = hand == &session ? nullptr : hand;
}

void Endings::finish_all(const Error& error) {
  for (Session& session : roster_.all()) {
    if (session.generation) finish(session, StopReason::error, error);
  }
}

void Endings::fail(Session& session, const char* what) noexcept {
  if (session.phase() == Phase::aside) lane_.forget();
  const Generation& generation = *session.generation;
  const std::size_t told = std::size_t{generation.usage.prompt_tokens} + generation.reported - generation.discarded;
  if (session.history.size() > told) {
    session.shared->tokens -= static_cast<std::uint32_t>(session.history.size() - told);
    session.history.resize(told);
  }
  try {
    session.history.insert(session.history.end(), session.appended.begin(), session.appended.end());
  } catch (...) {
    session.lost_input = true;
  }
  session.appended.clear();
  roster_.rest(session);
  roster_.use(session);
  session.suspect_until = 0;
  count(StopReason::error);
  end(session, {.reason = StopReason::error, .error = worker_failed(what)});
}

void Endings::shut_down(Session& session) noexcept {
  roster_.rest(session);
  end(session, {.reason = StopReason::shutdown});
}

void Endings::end(Session& session, Finish finish) noexcept {
  Generation& generation = *session.generation;
  session.touched = clock_();
  finish.usage = generation.usage;
  finish.discarded = generation.discarded;
  finish.timings = AnswerWriter::timings(generation, clock_());
  const std::shared_ptr<StreamState> stream = std::move(generation.stream);
  InFlight::Ticket ticket = std::move(generation.ticket);
  session.generation.reset();
  // Before the reader can know: it may start the next generation at once.
  --session.shared->generations;
  ticket.release();
  stream->finish(std::move(finish));
}

}  // namespace corral::engine
