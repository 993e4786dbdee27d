// Rules for request heads beyond syntax, so that all programs on the path read the same message (RFC 9112 §3.2, §6).
// Pure functions; safe on every thread.
#pragma once

#include "base/error.h"
#include "http/message.h"

namespace corral::http {

// The end of the body must be given in one way only: by Content-Length, or by the one transfer coding "chunked".
//   errc::malformed       both, an empty list, chunked twice or not last, any coding in HTTP/1.0
//   errc::unknown_coding  another coding
// `version` is 10 or 11; `chunked` is what the parser took it for.
Result<> check_framing(const Headers& headers, int version, bool chunked);

// HTTP/1.1 needs exactly one Host with a name; older clients may omit it. errc::malformed.
Result<> check_host(const Headers& headers, int version);

// "GET http://host/path" -> "/path", and host replaces the field Host. Other forms than a path and, for OPTIONS, "*"
// are errc::malformed.
Result<> take_target(RequestHead& head);

}  // namespace corral::http
