// A handler turns a request into a response; a filter is a handler around another. Server, client, router and fakes all
// speak this one interface, so they stack.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "async/task.h"
#include "base/error.h"
#include "base/named.h"
#include "http/body.h"
#include "http/message.h"

namespace corral::http {

// Who asks, as far as a filter in front of the handlers has found out. Where there is none, everybody may do
// everything.
struct Caller {
  std::uint32_t rights = ~0u;  // bits whose meaning is the filter's and the routes'; 0: nobody knows who it is
  std::string key;             // identifies the key that was sent; empty: none was needed
  std::uint32_t lacks = 0;     // once it was refused: the rights of which it needs one
};

struct Request {
  RequestHead head;
  Body body;
  RequestId id;      // nobody can guess it, unless the server takes the client's; sent back as X-Request-Id
  std::string peer;  // "127.0.0.1", or "unix" for a socket file
  Caller caller = {};
};

struct Response {
  ResponseHead head;
  Body body;
  // Why the answer is no, for filters that say it in another way; none: it isn't, or somebody else said so.
  std::shared_ptr<const Error> failure = {};

  static Response text(unsigned status, std::string_view content_type, std::string body);
  static Response json(unsigned status, std::string body) { return text(status, "application/json", std::move(body)); }
  // A stream of server-sent events; adds the headers that keep proxies from buffering it.
  static Response event_stream(std::unique_ptr<BodySource> events);
};

// Called on the loop of the connection. When the client goes away the task is cancelled: awaits throw and owners
// unwind.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual async::Task<Response> handle(Request request) = 0;
  // `answer` says no to a request that handle() never saw (its head came too slowly, is too large or against the rules)
  // or threw at; a filter may say it in another way. `path` as RequestHead::path(), "/" where it isn't known.
  virtual Response refused(std::string_view /*path*/, Response answer) { return answer; }
};

}  // namespace corral::http
