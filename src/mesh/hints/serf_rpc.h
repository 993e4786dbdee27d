// A connection to a Serf agent on loopback: one command at a time, each with a deadline. Belongs to one loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/timer.h"
#include "mesh/hints/peer_discovery.h"

namespace corral::mesh {

class SerfRpc {
 public:
  // Connects and sends the secret. `timers` outlives it. Errors: unreachable, timed_out, malformed, link_closed, and
  // wrong_peer if the agent rejects the secret.
  static async::Task<Result<std::unique_ptr<SerfRpc>>> connect(std::uint16_t port, std::string secret,
                                                               async::Timers& timers);
  ~SerfRpc();
  SerfRpc(const SerfRpc&) = delete;
  SerfRpc& operator=(const SerfRpc&) = delete;

  // Errors of all: timed_out, malformed, link_closed; then the connection is unusable.
  async::Task<Result<>> publish(Hint own);
  // Unreachable agents are no error: the agent keeps trying all that it knows.
  async::Task<Result<>> join(std::vector<Address> engines);
  async::Task<Result<std::vector<Hint>>> members();
  // Orders the agent to announce its departure, and to end.
  async::Task<Result<>> leave();

 private:
  struct Connection;
  explicit SerfRpc(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

}  // namespace corral::mesh
