// Finds the addresses of names, for dials. The system's resolver blocks a thread for as long as name servers keep it
// waiting, and can't be called back. So there are queues that don't wait for each other, each with a thread of its own:
// names of the settings, names that led to a link, and names that others tell. Who tells names that take long delays
// others that are told. A name of a link that took long is only told from then on.
//
// One set of queues for each loop, made with the first name and ended with the loop (a name that is just being looked
// for is waited for then), as Asio's own resolver is.
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
  std::string problem;  // where there are none
  Millis took{0};
};
// Called on a thread, one of each queue at a time.
using LookUp = std::function<FoundName(const Address&)>;
FoundName ask_system(const Address& address);

inline constexpr std::size_t kMaxNames = 256;  // of each queue, those included that were given up before their turn
inline constexpr Millis kSlowName{1000};

// Literal addresses are given back at once. One that is given up before its turn isn't asked for. Errors: unreachable.
async::Task<Result<Endpoints>> find_endpoints(Place place, LookUp look_up);

}  // namespace corral::mesh
