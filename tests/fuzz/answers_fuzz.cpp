// What a backend may answer, as the client reads it.
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include "async/loop.h"
#include "http/beast/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corral;
  namespace asio = boost::asio;
  using Local = asio::basic_stream_socket<asio::local::stream_protocol, async::Executor>;
  async::Loop loop;
  Local server(loop.executor()), client(loop.executor());
  asio::local::connect_pair(server, client);
  boost::system::error_code ignored;
  asio::write(server, asio::buffer(data, size), ignored);
  server.close();
  auto read = [&]() -> async::Task<void> {
    http::BufferedSocket wire(http::Socket(std::move(client)));
    http::MessageReader<false> reader(wire, {});
    const auto head = co_await reader.read_head();
    if (!head) co_return;
    std::size_t total = 0;
    while (true) {
      const auto ready = reader.ready_piece();
      total += ready.size();
      const auto piece = co_await reader.read_piece();
      if (!piece || piece->empty()) break;
      total += piece->size();
    }
    if (total > size) std::abort();
  };
  async::run_blocking(loop, read());
  return 0;
}
