// A request in its canonical form (dialects/dialect.h), as Forwarder takes it. Of what it says no more is known than
// its kind, its content type and that it has a body: one that is held, or one that is pulled as it goes out. A plain
// value.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/body.h"
#include "protocol/ask.h"
#include "protocol/http_error.h"
#include "router/answering.h"

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
  // Told the node that works on it, whenever it gets one. On the forwarder's loop.
  std::function<void(const NodeRef& node)> placed = {};
  // Somebody else sends it on, and asks again if need be: here it is asked once, and its errors have a Mishap.
  bool once = false;
  // How a stream says that it failed.
  std::string (*told)(const Error& error) = framed_error;

  static std::string framed_error(const Error& error) { return protocol::sse_error_event(error); }
  std::string_view path() const { return protocol::row_of(ask).path; }
};

}  // namespace corral::router
