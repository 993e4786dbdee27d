// Names for requests that nobody can guess, since who knows one can end the request.
#pragma once

#include "base/named.h"

namespace corral::http {

// "req-" and 128 random bits of the system in hex. Safe on every thread; a system call for every 256 or so.
RequestId new_request_id();

}  // namespace corral::http
