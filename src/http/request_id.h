// Unguessable ids of requests, because a client that knows the id can cancel the request.
#pragma once

#include "base/named.h"

namespace corral::http {

// "req-" and 128 random bits of the system in hex. Safe on every thread; one system call for about 256 ids.
RequestId new_request_id();

}  // namespace corral::http
