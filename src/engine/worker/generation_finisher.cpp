#include "engine/worker/generation_finisher.h"

#include <utility>

#include "engine/values/errors.h"

namespace corral::engine {
namespace {

// Enough that placement prefers other workers, and low enough that it retries this one when others are busy.
constexpr std::uint32_t kMaxFailures = 8;

}  // namespace

GenerationFinisher::GenerationFinisher(Parts parts)
    : clock_(std::move(parts.clock)),
      sessions_(parts.sessions),
      sequences_(parts.sequences),
      lane_(parts.lane),
      writer_(parts.writer),
      faults_(parts.faults) {}

// An end by the client says nothing about the worker.
void GenerationFinisher::count(FinishReason reason) {
  if (reason == FinishReason::stop || reason == FinishReason::length) failed_in_row_ = 0;
  if (reason == FinishReason::error && failed_in_row_ < kMaxFailures) ++failed_in_row_;
}

void GenerationFinisher::finish(Session& session, FinishReason reason, std::optional<Error> error,
                                std::string stop_string) {
  Session* const faults = std::exchange(faults_.session, &session);
  writer_.flush(session);
  if (session.phase() == Phase::aside) lane_.give_up(session);
  sessions_.rest(session);
  sessions_.use(session);
  session.suspect_until = 0;
  session.drop_media_rows(true);
  sequences_.settle(session);
  // Nothing behind this can fail: fail() would remove these tokens as not reported to the stream.
  session.history.insert(session.history.end(), session.appended.begin(), session.appended.end());
  session.appended.clear();
  count(reason);
  end(session, {.reason = reason, .stop_string = std::move(stop_string), .error = std::move(error)});
  faults_.session = faults == &session ? nullptr : faults;
}

void GenerationFinisher::finish_all(const Error& error) {
  for (Session& session : sessions_.all()) {
    if (session.generation) finish(session, FinishReason::error, error);
  }
}

void GenerationFinisher::fail(Session& session, const char* what) noexcept {
  if (session.phase() == Phase::aside) lane_.forget();
  const Generation& generation = *session.generation;
  const std::size_t visible = std::size_t{generation.usage.prompt_tokens} + generation.reported - generation.discarded;
  if (session.history.size() > visible) {
    session.shared->tokens -= static_cast<std::uint32_t>(session.history.size() - visible);
    session.history.resize(visible);
  }
  try {
    session.history.insert(session.history.end(), session.appended.begin(), session.appended.end());
  } catch (...) {
    session.lost_input = true;
  }
  session.appended.clear();
  sessions_.rest(session);
  sessions_.use(session);
  session.suspect_until = 0;
  session.drop_media_rows(true);
  count(FinishReason::error);
  end(session, {.reason = FinishReason::error, .error = worker_failed(what)});
}

void GenerationFinisher::shut_down(Session& session) noexcept {
  sessions_.rest(session);
  end(session, {.reason = FinishReason::shutdown});
}

void GenerationFinisher::end(Session& session, Finish finish) noexcept {
  Generation& generation = *session.generation;
  session.touched = clock_();
  finish.usage = generation.usage;
  finish.discarded = generation.discarded;
  finish.timings = StreamWriter::timings(generation, clock_());
  const std::shared_ptr<StreamState> stream = std::move(generation.stream);
  InFlight::Ticket ticket = std::move(generation.ticket);
  session.generation.reset();
  // Before the reader sees the end: it may start the next generation at once.
  --session.shared->generations;
  ticket.release();
  stream->finish(std::move(finish));
}

}  // namespace corral::engine
