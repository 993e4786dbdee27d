// A request in its canonical form (dialects/dialect.h). The forwarder knows only its kind, its content type and its
// body, which is held in memory or pulled while it is sent. A plain value.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/body.h"
#include "protocol/ask.h"
#include "protocol/http_error.h"
#include "router/base/upstream.h"

namespace corral::router {

struct ForwardRequest {
  backends::ModelPtr model;
  protocol::Ask ask = protocol::Ask::chat;
  std::string body = {};  // kept until the end of the response: it can be sent again
  bool stream = false;    // a stream is requested, with pings until it starts
  RequestId id = {};
  std::optional<Millis> ping_interval = {};  // of a waiting stream; 0: no pings; empty: one second
  WantedContext context = {};
  Requester requester = {};
  std::uint64_t conversation = 0;  // see NodePreference
  OwnerId owner = {};
  ClientAddress client = {};
  bool background = false;                // requests of other clients go first
  std::shared_ptr<const void> held = {};  // until the end of the response: the request's share of its key's limit
  std::string content_type = "application/json";
  // Instead of `body`; then `stream` is false. Pulled after the model is ready and not stored as a whole. Only an
  // http::ReplayableBody can be sent again.
  std::unique_ptr<http::BodySource> upload = {};
  // Called at each attempt with its node (empty: this machine). On the forwarder's loop.
  std::function<void(const NodeRef& node)> placed = {};
  // The sender is a peer, which decides about repeats: here it is sent once, and its errors have a ForwardFailure.
  bool once = false;
  // Formats the error event of a failed stream.
  std::string (*format_error)(const Error& error) = framed_error;

  static std::string framed_error(const Error& error) { return protocol::sse_error_event(error); }
  std::string_view path() const { return protocol::row_of(ask).path; }
};

}  // namespace corral::router
