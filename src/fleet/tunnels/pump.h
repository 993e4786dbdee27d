// Transfers bytes between a mesh stream and a local socket, in both directions, with back-pressure: it reads no more
// from one side than the other accepts.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include "async/task.h"
#include "mesh/net/stream.h"

namespace corral::fleet {

// Of any address family.
using LocalSocket = async::asio::basic_stream_socket<async::asio::generic::stream_protocol, async::Executor>;

// What the end of the socket's other side means.
enum class SocketSide {
  asks,     // the response is no longer wanted: the stream closes at once, without remaining bytes. For Unix sockets.
  answers,  // the response is complete: it is delivered first, and the other direction continues
  speaks,   // no half-close: when one direction ends, at either side, earlier bytes are delivered, then everything ends
};

struct PumpOptions {
  SocketSide side = SocketSide::speaks;
  std::size_t piece = 16 * 1024;  // bytes at a time in each direction; a TLS record
  // Called if the stream ends or breaks first, before the socket is closed for that reason.
  std::function<void()> stream_ended_first = {};
};

// Returns when both directions have ended, or after an error; both are closed then, also after cancellation. On the
// loop of both.
async::Task<void> pump(std::unique_ptr<mesh::Stream> stream, LocalSocket socket, PumpOptions options);

}  // namespace corral::fleet
