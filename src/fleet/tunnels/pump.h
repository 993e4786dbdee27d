// Carries bytes between a stream of the mesh and a socket of this machine, both ways. Back-pressure passes both ways:
// no more is taken from one side than the other takes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include "async/task.h"
#include "mesh/net/stream.h"

namespace corral::fleet {

// Of any family.
using LocalSocket = async::asio::basic_stream_socket<async::asio::generic::stream_protocol, async::Executor>;

// What it means that the socket's other end is closed.
enum class SocketSide {
  asks,     // nothing more is wanted: the stream is closed at once, whatever is on its way. For Unix sockets.
  answers,  // all is said: that arrives first, and the other way goes on
  speaks,   // nobody says half: when one way ends, on either side, what came before it is handed on, and all ends
};

struct PumpOptions {
  SocketSide side = SocketSide::speaks;
  std::size_t piece = 16 * 1024;  // bytes at a time, of each way; a TLS record
  // The stream has ended, or broken, before anything else did; called before the socket is closed for it.
  std::function<void()> stream_ended_first = {};
};

// Returns when both ways have ended, or something broke; both are closed then, also when it is cancelled. On the loop
// of both.
async::Task<void> pump(std::unique_ptr<mesh::Stream> stream, LocalSocket socket, PumpOptions options);

}  // namespace corral::fleet
