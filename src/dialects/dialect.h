// The languages that clients speak, and what they have in common underneath.
//
// Whoever answers (an engine of this machine, a peer, another server behind an adapter) is asked in one canonical form:
// OpenAI's bodies, answers and events with llama-server's additions. A dialect brings, for each of its endpoints, a
// pair of pure functions: `read` makes the canonical request of a body, `tell` says a canonical answer in the dialect's
// own way. Forwarding lies between the two and knows neither.
//
// Where a dialect is the canonical form there is nothing to tell: `tell` is absent and bytes pass untouched, both ways.
//
// Everything here is immutable or a plain value; safe on every thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "protocol/ask.h"
#include "protocol/fields.h"
#include "protocol/piece.h"

namespace corral::dialects {

// A request as whoever answers gets it.
struct Canonical {
  std::string body;
  protocol::Peeked about;
};

// Says one answer in a dialect. What it was told before is all it knows: no clock, no I/O. Each call appends what the
// client gets then, which may be nothing. A stream is ping() and piece() any number of times, then end() or failure().
class AnswerTeller {
 public:
  virtual ~AnswerTeller() = default;
  virtual std::string_view stream_type() const { return "text/event-stream"; }
  virtual void ping(std::string& out) = 0;  // nothing has come for a while
  virtual void piece(std::string& out, const protocol::AnswerPiece& piece) = 0;
  virtual void failure(std::string& out, const Error& error) = 0;
  virtual void end(std::string& out) = 0;
  // An answer that didn't stream.
  virtual std::string whole(const protocol::AnswerPiece& answer) = 0;
};

struct Endpoint {
  std::string_view path;  // under the core prefixes; one that begins with a slash stands as it is
  protocol::Ask ask = protocol::Ask::chat;
  // The body to a canonical request. Errors: those of protocol::check().
  Result<Canonical> (*read)(std::string body) = nullptr;
  bool streams = false;  // where the request says so
  std::unique_ptr<AnswerTeller> (*tell)(const Canonical& request) = nullptr;
  // The body is a form with files (dialects/form.h), which passes as it comes; what is answered passes, too.
  bool form = false;
};

struct Dialect {
  std::string_view name;
  std::span<const Endpoint> endpoints;
};

const Dialect& openai();        // openai.cpp
const Dialect& llama_server();  // llama_server.cpp

// All of them.
std::span<const Dialect* const> all();

}  // namespace corral::dialects
