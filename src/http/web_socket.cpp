#include "http/web_socket.h"

namespace corral::http {

bool asks_for_web_socket(const RequestHead& head) {
  return head.method == "GET" && same_name(head.headers.get("Upgrade"), "websocket") &&
         head.headers.has("Sec-WebSocket-Key");
}

}  // namespace corral::http
