// A handler converts a request to a response; a filter is a handler around another one. Server, client, router and
// fakes all have this interface, so they can be combined.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "async/task.h"
#include "base/error.h"
#include "base/named.h"
#include "http/body.h"
#include "http/message.h"

namespace corral::http {

// The caller, as identified by a filter. Without a filter every caller may do everything.
struct Caller {
  std::uint32_t rights = ~0u;  // bits defined by filter and routes; 0: unknown caller
  std::string key;             // identifies the key that was sent; empty: none was needed
  std::uint32_t missing = 0;   // after a rejection: the missing rights, of which one suffices
};

class Handler;
class WebSocket;

// Data that all requests of one WebSocket share. Defined by the handler that sends them.
struct Session {
  virtual ~Session() = default;
};

struct Request {
  RequestHead head;
  Body body;
  RequestId id;      // unguessable, unless the server takes the client's; sent back as X-Request-Id
  std::string peer;  // "127.0.0.1", or "unix" for a socket file
  Caller caller = {};
  std::shared_ptr<Session> session = {};  // null: not a message of a WebSocket
};

struct Response {
  ResponseHead head;
  Body body;
  // The error of this answer, for filters that rewrite it; null: no error, or an upstream's.
  std::shared_ptr<const Error> failure = {};
  // With the status 101: the connection becomes a WebSocket (web_socket.h), and this runs until its end. `outermost`:
  // the server's handler with all filters, for messages that are requests.
  std::function<async::Task<void>(WebSocket& socket, Handler& outermost)> upgrade = {};

  static Response text(unsigned status, std::string_view content_type, std::string body);
  static Response json(unsigned status, std::string body) { return text(status, "application/json", std::move(body)); }
  // A stream of server-sent events; adds the headers that keep proxies from buffering it.
  static Response event_stream(std::unique_ptr<BodySource> events);
};

// Called on the loop of the connection. If the client disconnects, the task is cancelled: awaits throw and owners
// unwind.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual async::Task<Response> handle(Request request) = 0;
  // `answer` is the error for a request that handle() never saw (its head was too slow, too large or invalid), or for
  // an exception of handle(). A filter may rewrite it. `path` as RequestHead::path(), "/" if unknown.
  virtual Response refused(std::string_view /*path*/, Response answer) { return answer; }
};

}  // namespace corral::http
