// An HTTP/1.1 client for one endpoint, with a pool of kept-alive connections. Belongs to one loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "async/task.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/unique_fd.h"
#include "http/handler.h"
#include "http/target.h"

namespace corral::http {

struct UnixEndpoint {
  std::filesystem::path path;
};
struct TcpEndpoint {
  std::string host;  // a name or an address
  std::uint16_t port = 0;
};
// Connections from another source: `open` returns a connected stream socket, or an error.
struct OpenedEndpoint {
  std::string name;  // for people
  std::function<async::Task<Result<UniqueFd>>()> open;
};
using Endpoint = std::variant<UnixEndpoint, TcpEndpoint, OpenedEndpoint>;

std::string to_string(const Endpoint& endpoint);

struct ClientOptions {
  std::size_t max_idle_connections = 1024;
  std::chrono::milliseconds connect_timeout{5'000};
  std::uint32_t max_header_bytes = 64 * 1024;
  // upload() reads nothing from its body before the server accepts it (Expect: 100-continue). If the server rejects it,
  // the body stays whole. Costs a round trip; for servers that answer such requests.
  bool ask_before_upload = false;
};

class Client final : public Target {
 public:
  // `clock` decides which connections were idle for too long. It must outlive the client and its responses.
  Client(async::Executor executor, const Clock& clock, Endpoint endpoint, ClientOptions options = {});
  ~Client() override;

  // Sends the request and returns after the head of the response; its body streams. Destroying the response (or
  // cancelling) closes the connection, which notifies the server. If a kept-alive connection ends before a byte of the
  // response, the request is sent once more on a new connection, whatever its method: the server may see it twice, but
  // only if it drops a request without a response. If there is no new connection, the error is that of the first one.
  // Errors: connect_failed, peer_closed, malformed, header_too_large.
  async::Task<Result<Response>> send(const RequestHead& head, std::string_view body) override;
  // Uses a new connection, because the bytes read from `body` can't be sent again.
  async::Task<Result<Response>> upload(const RequestHead& head, BodySource& body) override;

  // Closes idle connections.
  void close_idle();

  struct Impl;  // public in name only: defined in the .cpp

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace corral::http
