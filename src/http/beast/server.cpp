#include "http/server.h"

#include <list>
#include <mutex>
#include <set>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/log.h"
#include "http/beast/connection.h"
#include "http/errors.h"

namespace corral::http {
namespace {

using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol, async::Executor>;

constexpr auto kSweepInterval = std::chrono::milliseconds(250);

std::string peer_name(const Socket& socket) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return "unknown";
  if (endpoint.protocol().family() == AF_UNIX) return "unix";
  asio::ip::tcp::endpoint tcp;
  tcp.resize(endpoint.size());
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  return tcp.address().to_string();
}

}  // namespace

// The connections of one loop. Everything in it happens on that loop.
struct LoopConnections {
  explicit LoopConnections(async::Loop& on) : loop(on), tasks(on.executor()), none(on.executor()) { none.set(); }

  async::Loop& loop;
  std::set<std::shared_ptr<Connection>> open;
  async::TaskGroup tasks;
  async::Event none;
  bool sweeping = false;
};

struct Server::Impl {
  Impl(async::LoopPool& loops, Handler& on_request, ServerOptions with)
      : pool(loops), handler(on_request), options(std::move(with)), acceptors(loops.home().executor()) {
    for (std::size_t i = 0; i < pool.size(); ++i) per_loop.push_back(std::make_unique<LoopConnections>(pool.at(i)));
  }

  async::LoopPool& pool;
  Handler& handler;
  const ServerOptions options;
  async::TaskGroup acceptors;
  std::list<Acceptor> listening;
  std::vector<std::filesystem::path> socket_files;
  std::vector<std::unique_ptr<LoopConnections>> per_loop;
  std::atomic<std::size_t> connections = 0;
  std::size_t next_loop = 0;

  Result<Acceptor*> listen(asio::generic::stream_protocol::endpoint endpoint, const std::string& name);
  async::Task<void> accept(Acceptor& acceptor);
  void adopt(Socket socket, LoopConnections& home);
  async::Task<void> sweep(LoopConnections& home);
};

Result<Acceptor*> Server::Impl::listen(asio::generic::stream_protocol::endpoint endpoint, const std::string& name) {
  auto& acceptor = listening.emplace_back(pool.home().executor());
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error && endpoint.protocol().family() != AF_UNIX) acceptor.set_option(Acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    listening.pop_back();
    if (error == asio::error::address_in_use) return fail(errc::address_in_use, name + " is in use by another process");
    return fail(errc::bad_address, "can't listen on " + name + ": " + error.message());
  }
  acceptors.spawn("accept", accept(acceptor));
  return &acceptor;
}

async::Task<void> Server::Impl::accept(Acceptor& acceptor) {
  async::SystemTimers timers;
  while (true) {
    auto& home = *per_loop[next_loop++ % per_loop.size()];
    auto [error, socket] = co_await acceptor.async_accept(home.loop.context(), async::as_value);
    // Closed while this task slept: there was no operation to abort then.
    if (error == asio::error::operation_aborted || !acceptor.is_open()) co_return;
    if (error) {
      // Out of descriptors, most likely: waiting lets others finish; a tight loop would not.
      log::warning("http", "accept: {}", error.message());
      co_await timers.sleep_for(std::chrono::milliseconds(100));
      continue;
    }
    if (&home.loop == &pool.home()) {
      adopt(std::move(socket), home);
    } else {
      home.loop.post([this, &home, moved = std::move(socket)]() mutable { adopt(std::move(moved), home); });
    }
  }
}

void Server::Impl::adopt(Socket socket, LoopConnections& home) {
  boost::system::error_code ignored;
  if (connections.load() >= options.max_connections) {
    static constexpr std::string_view kFull =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    socket.non_blocking(true, ignored);
    socket.send(asio::buffer(kFull), 0, ignored);
    return;
  }
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);  // fails on Unix sockets, which need it not
  auto peer = peer_name(socket);
  auto connection = std::make_shared<Connection>(std::move(socket), std::move(peer), handler, options);
  home.open.insert(connection);
  home.none.reset();
  connections.fetch_add(1);
  connection->start([this, &home](Connection& ended) {
    home.open.erase(ended.shared_from_this());
    connections.fetch_sub(1);
    if (home.open.empty()) home.none.set();
  });
  if (!home.sweeping) {
    home.sweeping = true;
    home.tasks.spawn("sweep", sweep(home));
  }
}

// Looks for overdue operations while there are connections: one timer per loop instead of one per operation.
async::Task<void> Server::Impl::sweep(LoopConnections& home) {
  async::SystemTimers timers;
  while (!home.open.empty()) {
    co_await timers.sleep_for(kSweepInterval);
    const auto now = MonoClock::now();
    for (const auto& connection : home.open) connection->close_if_overdue(now);
  }
  home.sweeping = false;
}

Server::Server(async::LoopPool& pool, Handler& handler, ServerOptions options)
    : impl_(std::make_unique<Impl>(pool, handler, std::move(options))) {}

Server::~Server() = default;

Result<std::uint16_t> Server::listen_tcp(const std::string& host, std::uint16_t port) {
  boost::system::error_code error;
  auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error)
    return fail(errc::bad_address, "host '" + host + "' is not an IP address (use 127.0.0.1, 0.0.0.0, ::1, ...)",
                "host");
  const asio::ip::tcp::endpoint endpoint(address, port);
  auto acceptor = impl_->listen(endpoint, host + ":" + std::to_string(port));
  if (!acceptor) return std::unexpected(acceptor.error());
  const auto bound = (*acceptor)->local_endpoint();
  asio::ip::tcp::endpoint tcp;
  tcp.resize(bound.size());
  std::memcpy(tcp.data(), bound.data(), bound.size());
  return tcp.port();
}

Result<> Server::listen_unix(const std::filesystem::path& path) {
  constexpr std::size_t kLongest = 107;  // sun_path holds 108 bytes with its terminator
  if (path.native().size() > kLongest)
    return fail(errc::bad_address, "socket path '" + path.native() + "' is longer than 107 bytes");
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  const auto acceptor = impl_->listen(asio::local::stream_protocol::endpoint(path.native()), path.native());
  if (!acceptor) return std::unexpected(acceptor.error());
  impl_->socket_files.push_back(path);
  return {};
}

std::size_t Server::connections() const { return impl_->connections.load(); }

namespace {

async::Task<void> finish_all(LoopConnections& home) {
  const auto open = home.open;
  for (const auto& connection : open) connection->finish();
  co_return;
}

async::Task<void> wait_empty(LoopConnections& home) { co_await home.none.wait(); }

async::Task<void> abort_all(LoopConnections& home) {
  const auto open = home.open;
  for (const auto& connection : open) connection->abort();
  co_await home.none.wait();
  home.tasks.cancel();
  co_await home.tasks.join();
}

}  // namespace

async::Task<void> Server::stop(std::chrono::milliseconds deadline) {
  for (auto& acceptor : impl_->listening) acceptor.close();
  co_await impl_->acceptors.join();
  std::error_code ignored;
  for (const auto& path : impl_->socket_files) std::filesystem::remove(path, ignored);

  async::SystemTimers timers;
  auto all_gone = [this]() -> async::Task<bool> {
    for (auto& home : impl_->per_loop) {
      auto finished = finish_all(*home);
      co_await async::run_on(home->loop.executor(), std::move(finished));
    }
    for (auto& home : impl_->per_loop) {
      auto emptied = wait_empty(*home);
      co_await async::run_on(home->loop.executor(), std::move(emptied));
    }
    co_return true;
  };
  auto drained = all_gone();
  co_await async::with_timeout(timers, deadline, std::move(drained));
  for (auto& home : impl_->per_loop) {
    auto aborted = abort_all(*home);
    co_await async::run_on(home->loop.executor(), std::move(aborted));
  }
}

}  // namespace corral::http
