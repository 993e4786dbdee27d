// A way into a namespace for clients outside: a TCP port of 127.0.0.1 here, whose connections go on to a port of
// 127.0.0.1 in there. Ends and resets pass both ways.
#pragma once

#include <cstdint>

namespace corral::wire {

// Prints "gate PORT" and serves until standard input ends.
void run_gate(int space, std::uint16_t port);

}  // namespace corral::wire
