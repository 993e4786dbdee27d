// Common parts of both ends of a tunnel: the connection of a split's engine (llama.cpp's RPC backend) to a worker at
// another node. At the engine's node TunnelEntry listens on a loopback port. At the worker's node TunnelAcceptor
// connects to the worker's Unix socket. Each connection of the engine is a separate mesh stream (Purpose::rpc).
//
// A stream begins with a preamble that identifies the worker. TunnelAcceptor accepts or refuses at once, or after a
// starting worker is ready. All further bytes belong to the engine and the worker. Pure, apart from TunnelParts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "async/timer.h"
#include "mesh/groups/group_plan.h"
#include "mesh/peers/peers.h"

namespace corral::fleet {

// The environment of a tunnel; all of it outlives the tunnel.
struct TunnelParts {
  async::Executor executor;  // the mesh's loop
  async::Timers& timers;
  mesh::Peers& peers;
};

// The worker of a stream: the worker of this plan, whose host is at the other end.
struct TunnelAsk {
  mesh::ContentKey model;
  mesh::PlanTerm of;
  friend bool operator==(const TunnelAsk&, const TunnelAsk&) = default;
};

inline constexpr std::size_t kTunnelHead = 2;      // bytes of the length before each message
inline constexpr std::size_t kMaxTunnelAsk = 256;  // bytes after the length; later versions may send more
inline constexpr std::size_t kMaxTunnelAnswer = 512;

// With the length.
std::string encode(const TunnelAsk& ask);
// Without the length. Errors: mesh::errc::malformed.
Result<TunnelAsk> decode_tunnel_ask(std::string_view bytes);

// nullopt: accepted. Otherwise the reason, as text.
std::string encode_tunnel_answer(const std::optional<std::string>& refusal);
// Errors: errc::worker_refused with the node's text, without control characters; mesh::errc::malformed.
Result<> decode_tunnel_answer(std::string_view bytes);

// Reads the length. Errors: mesh::errc::malformed, if it is over `max_length` or 0.
Result<std::size_t> tunnel_length(std::string_view head, std::size_t max_length);

}  // namespace corral::fleet
