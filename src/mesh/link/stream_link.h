// The link over a stream, whatever the stream runs over.
#pragma once

#include <functional>

#include "async/timer.h"
#include "mesh/link/link.h"
#include "mesh/net/token_bucket.h"

namespace corral::mesh {

struct LinkOptions {
  Hello hello;  // of this node
  HeartbeatSettings detector;
  Millis handshake{3000};                      // for both hellos
  Millis farewell{1000};                       // for sending the reason of the end
  std::size_t max_queued_bytes = 1024 * 1024;  // received and not taken
  std::size_t max_queued_frames = 256;         // received and not taken
  std::size_t max_to_send = 4 * 1024 * 1024;   // bytes
  // Bytes that the peer may send, including skipped frames.
  RateLimit received{4.0 * 1024 * 1024, 32.0 * 1024 * 1024};
  std::function<std::vector<InFlightId>()> held;  // in-flight requests for each heartbeat
};

// Exchanges hellos over a fresh control stream, and returns the link. `timers` outlives it. Destroying the link sends
// no reason; to send one, close() it and wait for finished(). Errors: timed_out, foreign_mesh, forged (the peer's
// claim), malformed, link_closed; the peer gets the reason.
async::Task<Result<std::unique_ptr<Link>>> open_link(std::unique_ptr<Stream> stream, LinkOptions options,
                                                     async::Timers& timers);

}  // namespace corral::mesh
