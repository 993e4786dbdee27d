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

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "async/offload.h"
#include "base/clock.h"
#include "base/error.h"
#include "dialects/kept.h"
#include "http/handler.h"
#include "protocol/ask.h"
#include "protocol/fields.h"
#include "protocol/piece.h"

namespace corral::dialects {

struct Form;      // form.h
struct OwnNames;  // own_names.h

// What has been said of an answer that a request wants to be gone on with.
struct Begun {
  std::string content = {};
  std::string thoughts = {};
  bool any() const { return !content.empty() || !thoughts.empty(); }
};

// A request as whoever answers gets it.
struct Canonical {
  std::string body = {};
  std::shared_ptr<Form> form = {};  // instead, where it is one
  protocol::Peeked about = {};
  // What `tell` wants to know of the request beside that, in a type of the dialect's own; none: nothing.
  std::shared_ptr<const void> facts = {};
  // Instead of the endpoint's, where a body decides what is asked.
  std::optional<protocol::Ask> ask = {};
  // How long the model stays in memory unused after this request; below 0: it doesn't leave by itself; 0: it leaves.
  std::optional<Millis> keep = {};
  bool only_keeps = false;  // nothing is asked of the model: it is to be in memory, or to leave it
  // `about.context` is what the client would like: a model that was trained with fewer tokens has those.
  bool modest_context = false;
  // None: its endpoint knows nothing of keeping. Where it looks back, and nobody has looked yet (Before::found), the
  // rest isn't made: it is to be read again.
  std::shared_ptr<const StorageRequest> wish = {};
  // How errors about it name its fields. None: the client's names are the canonical ones.
  std::shared_ptr<const OwnNames> names = {};
  Begun begun = {};  // streams hold what comes behind it; of whole answers, which repeat it, told() takes it away
  // Set by whoever calls `tell`, as is about.model where a body names none.
  std::string id = {};  // of the request
  WallTime received = {};
};

// Says one answer in a dialect. What it was told before is all it knows: no clock, no I/O. Each call appends what the
// client gets then, which may be nothing. A stream is ping() and piece() any number of times, then end() or failure().
// Before end() and whole() it hears by took() how long the request has taken.
class ResponseTranslator {
 public:
  virtual ~ResponseTranslator() = default;
  virtual std::string_view stream_type() const { return "text/event-stream"; }
  virtual void ping(std::string& out) = 0;  // nothing has come for a while
  virtual void piece(std::string& out, const protocol::AnswerPiece& piece) = 0;
  virtual void failure(std::string& out, const Error& error) = 0;
  virtual void end(std::string& out) = 0;
  virtual void took(std::chrono::nanoseconds) {}
  // An answer that didn't stream.
  virtual std::string whole(const protocol::AnswerPiece& answer) = 0;
};

struct Endpoint {
  std::string_view path;  // under the core prefixes; one that begins with a slash stands as it is
  protocol::Ask ask = protocol::Ask::chat;
  // The body to a canonical request. Errors: those of protocol::check().
  Result<Canonical> (*read)(std::string body) = nullptr;
  bool streams = false;  // where the request says so
  std::unique_ptr<ResponseTranslator> (*tell)(const Canonical& request) = nullptr;
  // Instead of both, where bodies are forms with files (form.h). Nothing has waited for whole answers yet; events that
  // a backend answers pass untouched.
  Result<Canonical> (*read_form)(Form form) = nullptr;
  // Instead of `tell`, where answers are sound, which passes as it is made.
  http::Response (*tell_sound)(const Canonical& request, http::Response answer, async::ThreadPool* threads) = nullptr;
  http::Response (*tell_whole)(const Canonical& request, http::Response answer) = nullptr;
  // As `read`, of bodies that may name what was kept.
  Result<Canonical> (*read_on)(const std::string& body, const Before& before) = nullptr;
};

struct Dialect {
  std::string_view name;
  std::span<const Endpoint> endpoints;
};

const Dialect& openai();             // openai.cpp
const Dialect& llama_server();       // llama_server.cpp
const Dialect& anthropic_dialect();  // anthropic/endpoints.cpp
const Dialect& ollama_dialect();     // ollama/endpoints.cpp
const Dialect& responses_dialect();  // responses/endpoints.cpp

// All of them.
std::span<const Dialect* const> all();

}  // namespace corral::dialects
