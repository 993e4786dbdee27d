#include "http/server.h"

#include <cstring>
#include <list>
#include <unordered_map>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>

#include "async/event.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "base/log.h"
#include "http/beast/connection.h"
#include "http/beast/disconnect_watcher.h"
#include "http/beast/shared_limits.h"
#include "http/errors.h"

namespace corral::http {
namespace {

using Acceptor = asio::basic_socket_acceptor<asio::generic::stream_protocol, async::Executor>;

constexpr auto kSweepInterval = std::chrono::milliseconds(250);

struct Peer {
  std::string name;
  std::optional<PeerAddress> address;  // nothing: a client of this machine, by a socket file
};

PeerAddress network_of(const asio::ip::address& address) {
  if (address.is_v4()) return address.to_v4().to_uint();
  const auto v6 = address.to_v6();
  if (v6.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, v6).to_uint();
  std::uint64_t network = 0;
  const auto bytes = v6.to_bytes();
  std::memcpy(&network, bytes.data(), sizeof(network));
  return network;
}

Peer peer_of(const Socket& socket) {
  boost::system::error_code error;
  const auto endpoint = socket.remote_endpoint(error);
  if (error) return {"unknown", std::nullopt};
  if (endpoint.protocol().family() == AF_UNIX) return {"unix", std::nullopt};
  asio::ip::tcp::endpoint tcp;
  tcp.resize(endpoint.size());
  std::memcpy(tcp.data(), endpoint.data(), endpoint.size());
  return {tcp.address().to_string(), network_of(tcp.address())};
}

// Sends the error without reading the request, in one call.
void turn_away(Socket& socket, std::string_view why) {
  const auto body = fmt::format(
      R"({{"error":{{"message":"{}","type":"unavailable_error","code":"too_many_connections","param":null}}}})", why);
  const auto text = fmt::format(
      "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      body.size(), body);
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.send(asio::buffer(text), 0, ignored);
}

}  // namespace

// The connections of one loop. Everything in it happens on that loop.
struct LoopConnections {
  explicit LoopConnections(async::Loop& on)
      : loop(on),
        hang_ups(on.executor(), [this](std::uint64_t number) { hung_up(number); }),
        tasks(on.executor()),
        none(on.executor()) {
    none.set();
  }

  void hung_up(std::uint64_t number) {
    const auto found = open.find(number);
    if (found == open.end()) return;
    const auto connection = found->second;
    connection->hung_up();
  }
  std::vector<std::shared_ptr<Connection>> all() const {
    std::vector<std::shared_ptr<Connection>> copies;
    copies.reserve(open.size());
    for (const auto& [number, connection] : open) copies.push_back(connection);
    return copies;
  }

  async::Loop& loop;
  std::unordered_map<std::uint64_t, std::shared_ptr<Connection>> open;
  std::uint64_t last_number = 0;
  DisconnectWatcher hang_ups;
  async::TaskGroup tasks;
  async::Event none;
  bool listening = false;  // the DisconnectWatcher runs
  bool sweeping = false;
};

struct Server::Impl {
  Impl(async::LoopPool& loops, Handler& on_request, ServerOptions with)
      : pool(loops),
        handler(on_request),
        options(std::move(with)),
        timers(options.timers ? *options.timers : system_timers),
        bodies(options.max_bodies_bytes),
        addresses(options.max_connections_per_address),
        acceptors(loops.home().executor()) {
    for (std::size_t i = 0; i < pool.size(); ++i) per_loop.push_back(std::make_unique<LoopConnections>(pool.at(i)));
  }

  async::LoopPool& pool;
  Handler& handler;
  const ServerOptions options;
  async::SystemTimers system_timers;
  async::Timers& timers;
  BodyBudget bodies;
  AddressCount addresses;
  async::TaskGroup acceptors;
  std::list<Acceptor> listening;
  std::vector<std::filesystem::path> socket_files;
  std::vector<std::unique_ptr<LoopConnections>> per_loop;
  std::atomic<std::size_t> connections = 0;
  std::size_t next_loop = 0;
  bool stopping = false;

  // The loop of the next connection; on the home loop.
  LoopConnections& next() { return *per_loop[next_loop++ % per_loop.size()]; }
  Result<Acceptor*> listen(asio::generic::stream_protocol::endpoint endpoint, const std::string& name);
  async::Task<void> accept(Acceptor& acceptor);
  void adopt(Socket socket, Peer peer, LoopConnections& home);
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
  while (true) {
    auto& home = next();
    auto [error, socket] = co_await acceptor.async_accept(home.loop.context(), async::as_value);
    // Closed while this task slept, when there was no operation to abort.
    if (error == asio::error::operation_aborted || !acceptor.is_open()) co_return;
    if (error) {
      // Probably out of descriptors: waiting lets other requests finish; a tight loop would not.
      log::warning("http", "accept: {}", error.message());
      co_await timers.sleep_for(std::chrono::milliseconds(100));
      continue;
    }
    auto peer = peer_of(socket);
    if (&home.loop == &pool.home()) {
      adopt(std::move(socket), std::move(peer), home);
    } else {
      home.loop.post([this, &home, moved = std::move(socket), peer = std::move(peer)]() mutable {
        adopt(std::move(moved), std::move(peer), home);
      });
    }
  }
}

void Server::Impl::adopt(Socket socket, Peer peer, LoopConnections& home) {
  boost::system::error_code ignored;
  if (connections.load() >= options.max_connections) {
    turn_away(socket, "the server has reached its maximum number of connections; retry soon");
    return;
  }
  if (peer.address && !addresses.enter(*peer.address)) {
    turn_away(socket, fmt::format("this address has reached its maximum of {} connections; close some, use one for "
                                  "several requests, or raise max_connections_per_address",
                                  options.max_connections_per_address));
    return;
  }
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);  // fails on Unix sockets, which don't need it
  auto connection = std::make_shared<Connection>(std::move(socket), std::move(peer.name), handler, options, bodies);
  const auto number = ++home.last_number;
  home.open.emplace(number, connection);
  home.none.reset();
  connections.fetch_add(1);
  home.hang_ups.add(connection->native_handle(), number);
  connection->start([this, &home, number, address = peer.address] {
    home.open.erase(number);
    connections.fetch_sub(1);
    if (address) addresses.leave(*address);
    if (home.open.empty()) home.none.set();
  });
  if (!std::exchange(home.listening, true)) home.tasks.spawn("hang-ups", home.hang_ups.listen());
  if (!std::exchange(home.sweeping, true)) home.tasks.spawn("sweep", sweep(home));
}

// Reports passed time to the connections of a loop: one timer per loop instead of one per operation.
async::Task<void> Server::Impl::sweep(LoopConnections& home) {
  while (!home.open.empty()) {
    const auto before = timers.now();
    co_await timers.sleep_for(kSweepInterval);
    // A delay of the loop itself must not count against peers.
    const auto passed = std::min<MonoClock::duration>(timers.now() - before, 2 * kSweepInterval);
    for (const auto& [number, connection] : home.open) connection->tick(passed);
  }
  home.sweeping = false;
}

Server::Server(async::LoopPool& pool, Handler& handler, ServerOptions options)
    : impl_(std::make_shared<Impl>(pool, handler, std::move(options))) {}

Server::~Server() = default;

void Server::adopt(UniqueFd descriptor, std::string peer) {
  // After the server's end the socket is closed.
  impl_->pool.home().post(
      [weak = std::weak_ptr(impl_), descriptor = std::move(descriptor), peer = std::move(peer)]() mutable {
        const auto impl = weak.lock();
        if (!impl || impl->stopping) return;
        auto& home = impl->next();
        home.loop.post([weak, &home, descriptor = std::move(descriptor), peer = std::move(peer)]() mutable {
          const auto serving = weak.lock();
          if (!serving) return;
          auto socket = socket_of(std::move(descriptor), home.loop.executor());
          if (!socket) return log::error("http", "{}", socket.error().message);
          serving->adopt(std::move(*socket), {std::move(peer), std::nullopt}, home);
        });
      });
}

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

std::uint64_t Server::bodies_bytes() const { return impl_->bodies.used(); }

namespace {

async::Task<void> finish_all(LoopConnections& home) {
  for (const auto& connection : home.all()) connection->finish();
  co_return;
}

async::Task<void> wait_empty(LoopConnections& home) { co_await home.none.wait(); }

async::Task<bool> all_gone(const std::vector<std::unique_ptr<LoopConnections>>& homes) {
  for (const auto& home : homes) {
    auto finished = finish_all(*home);
    co_await async::run_on(home->loop.executor(), std::move(finished));
  }
  for (const auto& home : homes) {
    auto emptied = wait_empty(*home);
    co_await async::run_on(home->loop.executor(), std::move(emptied));
  }
  co_return true;
}

async::Task<void> abort_all(LoopConnections& home) {
  for (const auto& connection : home.all()) connection->abort();
  co_await home.none.wait();
  home.tasks.cancel();
  co_await home.tasks.join();
}

}  // namespace

async::Task<void> Server::stop(std::chrono::milliseconds deadline, std::function<void()> last_call) {
  impl_->stopping = true;
  for (auto& acceptor : impl_->listening) acceptor.close();
  co_await impl_->acceptors.join();
  std::error_code ignored;
  for (const auto& path : impl_->socket_files) std::filesystem::remove(path, ignored);

  async::SystemTimers timers;
  auto drained = all_gone(impl_->per_loop);
  const auto all_done = co_await async::with_timeout(timers, deadline, std::move(drained));
  if (!all_done && last_call) {
    last_call();
    auto last = all_gone(impl_->per_loop);
    co_await async::with_timeout(timers, kLastWords, std::move(last));
  }
  for (auto& home : impl_->per_loop) {
    auto aborted = abort_all(*home);
    co_await async::run_on(home->loop.executor(), std::move(aborted));
  }
}

}  // namespace corral::http
