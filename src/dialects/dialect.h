// The request formats of clients, and their common form.
//
// Every upstream (an engine of this machine, a peer, another server behind an adapter) gets requests in one canonical
// form: OpenAI's bodies, answers and events with llama-server's additions. Each endpoint of a dialect has two pure
// functions: one converts a body to the canonical request, the other makes a ResponseTranslator for the answer.
// Forwarding is independent of both.
//
// If a dialect is the canonical form, it has no translators, and bytes pass untouched, both ways.
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
#include "protocol/answers/piece.h"
#include "protocol/ask.h"
#include "protocol/fields.h"

namespace corral::dialects {

struct Form;      // form.h
struct OwnNames;  // own_names.h

// The beginning of an answer that the request wants to be continued.
struct Begun {
  std::string content = {};
  std::string thoughts = {};
  bool any() const { return !content.empty() || !thoughts.empty(); }
};

// A request in the form for the upstream.
struct Canonical {
  std::string body = {};
  std::shared_ptr<Form> form = {};  // instead of `body`, for forms
  protocol::Peeked about = {};
  // Further facts of the request for the translator, in a type of the dialect; null: none.
  std::shared_ptr<const void> facts = {};
  // Replaces the endpoint's, if the body decides the operation.
  std::optional<protocol::Ask> ask = {};
  // How long the model stays in memory unused after this request; below 0: not unloaded automatically; 0: unloaded at
  // once.
  std::optional<Millis> keep = {};
  bool only_keeps = false;  // only loads or unloads the model
  // `about.context` is a preference: if the model was trained with fewer tokens, that number is used.
  bool modest_context = false;
  // Null: its endpoint has no storage. If the request refers to stored data that hasn't been read yet (Before::found),
  // the other members are not set: read the body again.
  std::shared_ptr<const StorageRequest> storage = {};
  // The names of fields in errors. Null: the client's names are the canonical ones.
  std::shared_ptr<const OwnNames> names = {};
  Begun begun = {};  // streams have only the continuation; it is removed from whole answers, which repeat it
  // Set before the translator is made, like about.model if a body names none.
  std::string id = {};  // of the request
  WallTime received = {};
};

// Translates one answer to a dialect. It keeps only its own state: no clock, no I/O. Each call appends the bytes for
// the client, maybe none. A stream is ping() and piece() any number of times, then end() or failure(). Before end() and
// whole(), took() gets the duration of the request.
class ResponseTranslator {
 public:
  virtual ~ResponseTranslator() = default;
  virtual std::string_view stream_type() const { return "text/event-stream"; }
  virtual void ping(std::string& out) = 0;  // called after a silence
  virtual void piece(std::string& out, const protocol::AnswerPiece& piece) = 0;
  virtual void failure(std::string& out, const Error& error) = 0;
  virtual void end(std::string& out) = 0;
  virtual void took(std::chrono::nanoseconds) {}
  // Translates an answer without streaming.
  virtual std::string whole(const protocol::AnswerPiece& answer) = 0;
};

struct Endpoint {
  std::string_view path;  // under the core prefixes; a path with a leading slash is used unchanged
  protocol::Ask ask = protocol::Ask::chat;
  // Converts the body to a canonical request. Errors: those of protocol::check().
  Result<Canonical> (*read)(std::string body) = nullptr;
  bool streams = false;  // if the request asks for a stream
  std::unique_ptr<ResponseTranslator> (*make_translator)(const Canonical& request) = nullptr;
  // Instead of both, for bodies that are forms with files (form.h). Answers are whole; events of a backend pass
  // untouched.
  Result<Canonical> (*read_form)(Form form) = nullptr;
  // Instead of a translator, for answers with sound, which passes as it is made. Returns when it has begun.
  async::Task<http::Response> (*translate_sound)(const Canonical& request, http::Response answer,
                                                 async::ThreadPool* threads) = nullptr;
  http::Response (*translate_whole)(const Canonical& request, http::Response answer) = nullptr;
  // Like `read`, for bodies that may refer to stored data.
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
