// A WebSocket (RFC 6455) as its handler sees it: texts in both directions. A handler answers a request for one with
// Response::upgrade; the server does the rest: it reads all the time, answers pings and sends its own, joins fragments,
// and cancels the handler when the client leaves.
//
// Belongs to the loop of its connection.
#pragma once

#include <string>
#include <string_view>

#include "async/task.h"
#include "base/error.h"
#include "http/message.h"

namespace corral::http {

class WebSocket {
 public:
  virtual ~WebSocket() = default;
  // The next message. Messages that arrive earlier wait, at most kMaxWaiting. Errors: peer_closed at the end.
  virtual async::Task<Result<std::string>> read() = 0;
  // Sends one message; returns when the connection has taken it. Errors: peer_closed.
  virtual async::Task<Result<>> write(std::string_view text) = 0;

  static constexpr std::size_t kMaxWaiting = 8;
};

// Whether the request asks to become a WebSocket.
bool asks_for_web_socket(const RequestHead& head);

}  // namespace corral::http
