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
  std::string body = {};  // held to the end of the answer: it can be sent again
  bool stream = false;    // events are wanted, and pings until they come
  RequestId id = {};
  std::optional<Millis> ping_interval = {};  // of a stream that waits; 0: no pings; none: a second
  WantedContext context = {};
  Requester requester = {};
  std::uint64_t conversation = 0;  // see NodePreference
  OwnerId owner = {};
  ClientAddress client = {};
  bool background = false;                // others' requests go first
  std::shared_ptr<const void> held = {};  // until the end of the answer: its place among those of its key
  std::string content_type = "application/json";
  // Instead of `body`; then `stream` is false. Pulled once, when the model is there, and never held whole.
  std::unique_ptr<http::BodySource> upload = {};
  // Called with the node that works on it (empty: this machine), at each attempt. On the forwarder's loop.
  std::function<void(const NodeRef& node)> placed = {};
  // The sender is a peer, which repeats it if that may help: here it is sent once, and its errors have a
  // ForwardFailure.
  bool once = false;
  // How a stream says that it failed.
  std::string (*told)(const Error& error) = framed_error;

  static std::string framed_error(const Error& error) { return protocol::sse_error_event(error); }
  std::string_view path() const { return protocol::row_of(ask).path; }
};

}  // namespace corral::router
