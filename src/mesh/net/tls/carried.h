// TLS inside a stream that a third node carries: OpenSSL talks to one end of a pair of sockets, and what comes out of
// the other end goes over the carrier. Costs a copy more each way, for those few streams that can't go straight.
#pragma once

#include "async/task_group.h"
#include "mesh/net/tls/tls_stream.h"

namespace corral::mesh {

// The end for TLS. A task of `tasks` moves the bytes until either side ends. Errors: the system's own.
Result<TcpSocket> carry(async::Executor executor, async::TaskGroup& tasks, std::unique_ptr<Stream> carrier);

}  // namespace corral::mesh
