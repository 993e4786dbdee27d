// What both ends of a tunnel share: the way of an engine of a split (llama.cpp's RPC backend) to a worker at another
// node. At the engine's node TunnelEntry listens on a loopback port; at the worker's node TunnelAcceptor leads to the
// worker's Unix socket. Each connection of the engine is a stream of the mesh of its own (Purpose::rpc).
//
// A stream begins with a preamble: whose worker is meant. The door answers at once, or when a worker that is just
// starting is ready, or why not; from then on everything is the engine's and the worker's. Pure but for the parts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "async/timer.h"
#include "mesh/groups/group_plan.h"
#include "mesh/peers/peers.h"

namespace corral::fleet {

// What a tunnel needs; all of it outlives the tunnel.
struct TunnelParts {
  async::Executor executor;  // the mesh's loop
  async::Timers& timers;
  mesh::Peers& peers;
};

// Which worker a stream is for: that of the plan's host, who is at the other end.
struct TunnelAsk {
  mesh::ContentKey model;
  mesh::PlanTerm of;
  friend bool operator==(const TunnelAsk&, const TunnelAsk&) = default;
};

inline constexpr std::size_t kTunnelHead = 2;      // bytes of a length, in front of everything that is said
inline constexpr std::size_t kMaxTunnelAsk = 256;  // bytes behind it; later versions may say more
inline constexpr std::size_t kMaxTunnelAnswer = 512;

// With its length in front.
std::string encode(const TunnelAsk& ask);
// Without it. Errors: mesh::errc::malformed.
Result<TunnelAsk> decode_tunnel_ask(std::string_view bytes);

// Nothing: the worker listens. Else why not, for people.
std::string encode_tunnel_answer(const std::optional<std::string>& refusal);
// Errors: errc::worker_refused with the node's words, made harmless; mesh::errc::malformed.
Result<> decode_tunnel_answer(std::string_view bytes);

// The length that is in front. Errors: mesh::errc::malformed, when it is over `most` or 0.
Result<std::size_t> tunnel_length(std::string_view head, std::size_t most);

}  // namespace corral::fleet
