#include "fleet/requests/stream_bridges.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/socket.h>

#include "mesh/identity/errors.h"

namespace corral::fleet {

Result<UniqueFd> StreamBridges::make(std::unique_ptr<mesh::Stream> stream, Side side) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0)
    return fail(mesh::errc::link_closed, fmt::format("no sockets left for a request: {}", std::strerror(errno)));
  UniqueFd given(ends[1]);
  LocalSocket end(executor_, async::asio::generic::stream_protocol(AF_UNIX, 0), ends[0]);
  pumps_.spawn("bridge", pump(std::move(stream), std::move(end), {.side = side}));
  return given;
}

async::Task<void> StreamBridges::stop() {
  pumps_.cancel();
  co_await pumps_.join();
}

}  // namespace corral::fleet
