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
// Connections that come another way: `open` gives a connected stream socket, or says why there is none.
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
  // upload() pulls nothing before the server says that it wants the body (Expect: 100-continue): one that says no
  // leaves it whole. Costs a round trip; for servers that are known to say so.
  bool ask_before_upload = false;
};

class Client final : public Target {
 public:
  Client(async::Executor executor, Endpoint endpoint, ClientOptions options = {});
  ~Client() override;

  // Sends the request and returns once the response's head is there; its body streams. Dropping the response (or
  // cancelling) closes the connection, which tells the server. A kept-alive connection that turned out closed is
  // replaced as long as the server can't have seen the request, or may see it twice (GET and its like). Errors:
  // connect_failed, peer_closed, malformed, header_too_large.
  async::Task<Result<Response>> send(const RequestHead& head, std::string_view body) override;
  // Over a connection that is new: what was pulled can't be sent again.
  async::Task<Result<Response>> upload(const RequestHead& head, BodySource& body) override;

  // Closes the connections that wait for a request.
  void close_idle();

  struct Impl;  // public in name only: defined behind the compile firewall

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace corral::http
