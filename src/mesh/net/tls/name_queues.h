// Resolves names, for dials. The system's resolver blocks a thread while it waits for name servers, and can't be
// cancelled. So there are three independent queues, each with a thread: names of the settings, names that led to a
// link, and names from other nodes. Slow names from other nodes delay only other names of that queue. A slow name of a
// link moves to that queue.
//
// One set of queues for each loop, made with the first name and ended with the loop (after the running lookup), as
// Asio's own resolver.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <boost/asio/ip/tcp.hpp>

#include "mesh/net/stream.h"

namespace corral::mesh {

using Endpoints = std::vector<async::asio::ip::tcp::endpoint>;

struct FoundName {
  Endpoints endpoints;
  std::string problem;  // if there are none
  Millis took{0};
};
// Called on a thread, one call of each queue at a time.
using LookUp = std::function<FoundName(const Address&)>;
FoundName ask_system(const Address& address);

inline constexpr std::size_t kMaxNames = 256;  // of each queue, including names that were cancelled before their turn
inline constexpr Millis kSlowName{1000};

// Returns literal addresses at once. A name that is cancelled before its turn isn't resolved. Errors: unreachable.
async::Task<Result<Endpoints>> find_endpoints(Place place, LookUp look_up);

}  // namespace corral::mesh
