// TLS inside a stream that a third node carries: OpenSSL talks to one end of a pair of sockets, and what comes out of
// the other end goes over the carrier. Costs a copy more each way, for those few streams that can't go straight.
#pragma once

#include "async/task_group.h"
#include "mesh/net/tls/tls_stream.h"

namespace corral::mesh {

struct Carried {
  TcpSocket socket;            // the end for TLS
  std::shared_ptr<void> held;  // goes with it: without it the carrier is closed, when what was written has left
};

// A task of `tasks` moves the bytes until either side ends. Errors: the system's own.
Result<Carried> carry(async::Executor executor, async::TaskGroup& tasks, async::Timers& timers,
                      std::unique_ptr<Stream> carrier);

}  // namespace corral::mesh
