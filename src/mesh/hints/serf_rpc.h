// A conversation with a Serf agent on loopback: one command at a time, each with a deadline. Belongs to one loop.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/timer.h"
#include "mesh/hints/peer_discovery.h"

namespace corral::mesh {

class SerfRpc {
 public:
  // Connects and gives the secret. `timers` outlives it. Errors: unreachable, timed_out, malformed, link_closed, and
  // wrong_peer when the secret isn't taken.
  static async::Task<Result<std::unique_ptr<SerfRpc>>> connect(std::uint16_t port, std::string secret,
                                                               async::Timers& timers);
  ~SerfRpc();
  SerfRpc(const SerfRpc&) = delete;
  SerfRpc& operator=(const SerfRpc&) = delete;

  // Errors of all: timed_out, malformed, link_closed; then the conversation is over.
  async::Task<Result<>> tell(Hint own);
  // What couldn't be reached is no error: the agent goes on trying whom it knows.
  async::Task<Result<>> join(std::vector<Address> engines);
  async::Task<Result<std::vector<Hint>>> members();
  // Asks it to tell the others that it goes, and to end.
  async::Task<Result<>> leave();

 private:
  struct Connection;
  explicit SerfRpc(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

}  // namespace corral::mesh
