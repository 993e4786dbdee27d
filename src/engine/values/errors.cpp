#include "engine/values/errors.h"

#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "base/error_table.h"

namespace corral::engine {
namespace {

// By then a place may be free.
constexpr std::chrono::seconds kRetryAfter{1};

Error with(Error error, std::any facts) {
  error.facts = std::move(facts);
  return error;
}

}  // namespace

Error context_full(ContextFull facts) {
  return with(Error(errc::context_full,
                    fmt::format("the session holds {} tokens and needs a context of at least {}; this one holds {}",
                                facts.n_past, facts.needed, facts.n_ctx)),
              facts);
}

Error session_not_found(SessionId session) {
  return with(Error(errc::session_not_found, fmt::format("no session {}", session.value()), "session"),
              SessionNotFound{session});
}

Error session_busy(SessionId session) {
  return with(Error(errc::session_busy, fmt::format("session {} is generating already", session.value()), "session"),
              SessionBusy{session});
}

Error queue_full(QueueFull facts) {
  Error error(errc::queue_full, fmt::format("the queue is full (limit {} requests): retry in a second", facts.limit));
  error.retry_after = kRetryAfter;
  return with(std::move(error), facts);
}

Error share_full(std::uint64_t held, QueueFull facts) {
  Error error(errc::queue_full,
              fmt::format("this client has {} running or waiting requests (limit {} in all), and the queue keeps space "
                          "for other clients: send fewer at a time, or retry",
                          held, facts.limit));
  error.retry_after = kRetryAfter;
  return with(std::move(error), facts);
}

Error token_share_full(std::uint64_t held, std::uint64_t asked, std::uint64_t limit) {
  Error error(
      errc::queue_full,
      fmt::format("this client has {} running or waiting tokens and requests {} more (limit {} in all), and the "
                  "queue keeps space for other clients: send fewer at a time, or retry",
                  held, asked, limit));
  error.retry_after = kRetryAfter;
  return error;
}

Error load_failed(errc cause, LoadFailed facts) {
  Error error(cause, fmt::format("can't load '{}': {}", facts.path, facts.cause), "path");
  error.facts = std::move(facts);
  return error;
}

Error worker_failed(const char* what) noexcept {
  try {
    return {errc::worker_failed, fmt::format("the generation was ended: {}", what)};
  } catch (...) {
    return {errc::worker_failed, std::string()};
  }
}

const std::error_category& error_category() {
  // In the order of errc.
  static constexpr ErrorRow kRows[] = {
      {"model_not_loaded", ErrorKind::not_found},
      {"model_file_not_found", ErrorKind::not_found},
      {"model_load_error", ErrorKind::internal},
      {"load_cancelled", ErrorKind::cancelled},
      {"insufficient_memory", ErrorKind::unprocessable},
      {"insufficient_memory", ErrorKind::unprocessable},
      {"version_mismatch", ErrorKind::internal},
      {"session_not_found", ErrorKind::not_found},
      {"session_busy", ErrorKind::conflict},
      {"tokenize_failed", ErrorKind::invalid_request},
      {"context_length_exceeded", ErrorKind::invalid_request},
      {"input_too_long", ErrorKind::invalid_request},
      {"invalid_argument", ErrorKind::invalid_request},
      {"invalid_worker_count", ErrorKind::invalid_request},
      {"queue_full", ErrorKind::unavailable},
      {"worker_shutdown", ErrorKind::unavailable},
      {"unsupported", ErrorKind::invalid_request},
      {"decode_failed", ErrorKind::internal},
      {"park_failed", ErrorKind::internal},
      {"park_damaged", ErrorKind::internal},
      {"backend_not_installed", ErrorKind::unprocessable},
      {"worker_failed", ErrorKind::internal},
      {"no_weights", ErrorKind::unavailable},
  };
  static const TableCategory category("engine", kRows);
  return category;
}

}  // namespace corral::engine
