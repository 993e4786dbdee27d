// Errors of HTTP connections.
#pragma once

#include "base/error.h"

namespace corral::http {

enum class errc {
  malformed = 1,         // not HTTP/1.x, or against its rules
  header_too_large,      // request line and fields over the limit
  too_large,             // body over the limit
  truncated,             // the peer closed before the announced end
  timed_out,             // the peer was too slow
  peer_closed,           // the connection ended
  connect_failed,        // no listener
  address_in_use,        // another process listens there
  bad_address,           // host, port or socket path is not usable
  unknown_coding,        // a transfer coding other than chunked
  bodies_full,           // limit of large bodies reached
  uploads_full,          // limit of spooled files reached
  not_kept,              // a spooled file couldn't be written or read
  unsupported_encoding,  // a Content-Encoding that isn't supported
  bad_encoding,          // a body isn't what its Content-Encoding says
};

}  // namespace corral::http

CORRAL_DECLARE_ERRC(corral::http);
