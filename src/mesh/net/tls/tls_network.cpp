#include "mesh/net/tls/tls_network.h"

#include <algorithm>
#include <deque>
#include <list>
#include <map>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fmt/format.h>

#include "async/event.h"
#include "async/task_group.h"
#include "base/log.h"
#include "mesh/identity/errors.h"
#include "mesh/net/tls/tls_stream.h"

namespace corral::mesh {
namespace {

using async::Task;
namespace asio = async::asio;
using Tcp = asio::ip::tcp;
using Acceptor = asio::basic_socket_acceptor<Tcp, async::Executor>;
using Session = std::shared_ptr<TlsSession>;

constexpr std::size_t kMaxCallers = 1024;

// The unit of limits for one address: of IPv6 the first 64 bits.
std::string network_of(const asio::ip::address& address) {
  if (!address.is_v6() || address.to_v6().is_v4_mapped()) return address.to_string();
  const auto bytes = address.to_v6().to_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), 8};
}

// In a pointer: a timeout's result must have a default.
Task<Result<std::unique_ptr<TcpSocket>>> connect(Place place, LookUp look_up) {
  const auto shown = to_text(place.address);
  auto finding = find_endpoints(std::move(place), std::move(look_up));
  const auto endpoints = co_await std::move(finding);
  if (!endpoints) co_return std::unexpected(endpoints.error());
  const auto executor = co_await asio::this_coro::executor;
  std::string why = "the name has no address";
  for (const auto& endpoint : *endpoints) {
    auto socket = std::make_unique<TcpSocket>(executor);
    const auto [error] = co_await socket->async_connect(endpoint, async::as_value);
    if (!error) co_return socket;
    why = error.message();
  }
  co_return fail(errc::unreachable, fmt::format("no node answers at {}: {}", shown, why));
}

}  // namespace

struct TlsNetwork::Impl {
  Impl(async::Executor on, const SigningKey& key, async::Timers& time, TlsOptions with)
      : context(key),
        timers(time),
        options(std::move(with)),
        acceptor(on),
        handshakes(with.handshakes),
        of_members(with.handshakes_of_members),
        arrived(on),
        tasks(on) {}

  // A connection that isn't known to be a member's.
  struct PendingConnection {
    std::weak_ptr<TlsSession> session;
    std::string network;
  };
  using PendingConnections = std::list<PendingConnection>;  // the oldest first
  // An address with recent connections.
  struct Caller {
    TokenBucket handshakes;
    bool member = false;
  };

  bool is_members(const std::string& network) const {
    const auto found = callers.find(network);
    return found != callers.end() && found->second.member;
  }
  bool may_shake_hands(const std::string& network);

  void take(const std::shared_ptr<Impl>& self, TcpSocket socket);
  void make_room(const std::string& network);
  static Task<void> listen(std::shared_ptr<Impl> self);
  static Task<void> greet(std::shared_ptr<Impl> self, Session session, std::string network);
  static Task<Result<std::unique_ptr<Stream>>> dial(std::shared_ptr<Impl> self, Place place, std::vector<NodeId> pins,
                                                    Purpose purpose);
  static Task<Result<std::unique_ptr<Stream>>> accept(std::shared_ptr<Impl> self);

  const TlsContext context;
  async::Timers& timers;
  const TlsOptions options;
  PeerAuthorizer authorizer;
  Acceptor acceptor;
  PendingConnections pending;
  TokenBucket handshakes;  // of strangers
  TokenBucket of_members;
  std::map<std::string, Caller> callers;
  std::deque<std::unique_ptr<Stream>> arrivals;
  async::Event arrived;
  bool stopped = false;
  async::TaskGroup tasks;
};

bool TlsNetwork::Impl::may_shake_hands(const std::string& network) {
  const auto now = timers.now();
  // If there are too many, forgets all but those of members.
  if (callers.size() >= kMaxCallers) std::erase_if(callers, [](const auto& entry) { return !entry.second.member; });
  if (callers.size() >= kMaxCallers) callers.clear();
  auto& caller = callers.try_emplace(network, Caller{TokenBucket(options.handshakes_per_address)}).first->second;
  return caller.handshakes.take(now) && (caller.member ? of_members : handshakes).take(now);
}

void TlsNetwork::Impl::make_room(const std::string& network) {
  const auto same = [&](const PendingConnection& one) { return one.network == network; };
  const auto unknown = [this](const PendingConnection& one) { return !is_members(one.network); };
  const auto count = [this](const auto& which) {
    return static_cast<std::size_t>(std::ranges::count_if(pending, which));
  };
  const bool known = is_members(network);
  const auto limit = known ? options.max_per_member_address : options.max_pending_per_address;
  auto leaves = pending.end();
  if (count(same) >= limit) {
    leaves = std::ranges::find_if(pending, same);
  } else if (!known && count(unknown) >= options.max_pending) {
    leaves = std::ranges::find_if(pending, unknown);
  }
  if (leaves == pending.end()) return;
  log::debug("mesh", "too many strangers at once: closing the oldest one");
  if (const auto session = leaves->session.lock()) {
    session->close();  // which removes it from the list
  } else {
    pending.erase(leaves);
  }
}

void TlsNetwork::Impl::take(const std::shared_ptr<Impl>& self, TcpSocket socket) {
  boost::system::error_code error;
  const auto from = socket.remote_endpoint(error);
  if (error) return;  // gone again
  const auto network = network_of(from.address());
  if (!may_shake_hands(network)) return;
  make_room(network);
  auto judge = [self](const PublicKey& key, std::optional<Purpose> purpose) -> Result<> {
    if (!purpose) return fail(errc::handshake_failed, "the peer sent no purpose of the connection");
    if (self->stopped) return fail(errc::link_closed, "this node stops");
    return self->authorizer(key, *purpose);
  };
  auto shown = to_text(Address{from.address().to_string(), from.port()});
  auto session =
      std::make_shared<TlsSession>(std::move(socket), context, std::nullopt, std::move(judge), std::move(shown));
  const auto place = pending.insert(pending.end(), {session, network});
  // Until the connection closes, or its peer is known as a member.
  session->held = std::shared_ptr<void>(nullptr, [weak = std::weak_ptr(self), place](void*) {
    if (const auto network_left = weak.lock()) network_left->pending.erase(place);
  });
  tasks.spawn("mesh: handshake", greet(self, std::move(session), network));
}

Task<void> TlsNetwork::Impl::listen(std::shared_ptr<Impl> self) {
  while (true) {
    auto [error, socket] = co_await self->acceptor.async_accept(async::as_value);
    if (self->stopped || error == asio::error::operation_aborted) co_return;
    if (error) {
      // Probably no free descriptors: wait until other connections end.
      log::warning("mesh", "accept: {}", error.message());
      co_await self->timers.sleep_for(Millis(100));
      continue;
    }
    self->take(self, std::move(socket));
  }
}

Task<void> TlsNetwork::Impl::greet(std::shared_ptr<Impl> self, Session session, std::string network) {
  auto shaking = session->shake_hands();
  const auto shaken = co_await async::with_timeout(self->timers, self->options.handshake, std::move(shaking));
  if (!shaken || !*shaken || self->stopped || self->arrivals.size() >= self->options.max_waiting) {
    if (shaken && !*shaken) log::debug("mesh", "{}: {}", session->peer().address, shaken->error().message);
    session->close();
    co_return;
  }
  if (session->purpose() != Purpose::join) {
    session->held.reset();
    const auto caller = self->callers.find(network);
    if (caller != self->callers.end() && !std::exchange(caller->second.member, true))
      caller->second.handshakes = TokenBucket(self->options.handshakes_per_member_address);
  }
  self->arrivals.push_back(std::make_unique<TlsStream>(std::move(session)));
  self->arrived.set();
}

Task<Result<std::unique_ptr<Stream>>> TlsNetwork::Impl::dial(std::shared_ptr<Impl> self, Place place,
                                                             std::vector<NodeId> pins, Purpose purpose) {
  const auto shown = to_text(place.address);
  auto connecting = connect(std::move(place), self->options.look_up);
  auto socket = co_await async::with_timeout(self->timers, self->options.dial, std::move(connecting));
  if (!socket) {
    co_return fail(errc::unreachable,
                   fmt::format("{} did not respond within {} ms", shown, self->options.dial.count()));
  }
  if (!*socket) co_return std::unexpected(socket->error());
  auto judge = [pins = std::move(pins), shown](const PublicKey& key, std::optional<Purpose>) -> Result<> {
    const auto id = node_id(key);
    if (std::ranges::find(pins, id) != pins.end()) return {};
    return fail(errc::wrong_peer, fmt::format("{} is node {}, not the expected one", shown, short_text(id)));
  };
  auto session = std::make_shared<TlsSession>(std::move(***socket), self->context, purpose, std::move(judge), shown);
  auto shaking = session->shake_hands();
  const auto shaken = co_await async::with_timeout(self->timers, self->options.handshake, std::move(shaking));
  if (!shaken) {
    co_return fail(errc::timed_out,
                   fmt::format("{} didn't finish the handshake within {} ms", shown, self->options.handshake.count()));
  }
  if (!*shaken) co_return std::unexpected(shaken->error());
  std::unique_ptr<Stream> stream = std::make_unique<TlsStream>(std::move(session));
  co_return stream;
}

Task<Result<std::unique_ptr<Stream>>> TlsNetwork::Impl::accept(std::shared_ptr<Impl> self) {
  while (self->arrivals.empty()) {
    if (self->stopped) co_return fail(errc::link_closed, "the node stops");
    self->arrived.reset();
    co_await self->arrived.wait();
  }
  auto stream = std::move(self->arrivals.front());
  self->arrivals.pop_front();
  co_return stream;
}

TlsNetwork::TlsNetwork(async::Executor executor, const SigningKey& key, async::Timers& timers, TlsOptions options)
    : impl_(std::make_shared<Impl>(executor, key, timers, std::move(options))) {}

TlsNetwork::~TlsNetwork() {
  impl_->stopped = true;
  boost::system::error_code ignored;
  impl_->acceptor.close(ignored);
  while (!impl_->pending.empty()) {
    if (const auto session = impl_->pending.front().session.lock()) {
      session->close();
    } else {
      impl_->pending.pop_front();
    }
  }
  impl_->arrivals.clear();
  impl_->arrived.set();
  impl_->tasks.cancel();
}

Result<Address> TlsNetwork::listen(const Address& at, PeerAuthorizer authorizer) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(at.host, error);
  if (error) return fail(errc::bad_address, fmt::format("can't listen on '{}': it is not an address", at.host));
  const Tcp::endpoint endpoint(address, at.port);
  impl_->authorizer = std::move(authorizer);
  auto& acceptor = impl_->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(Acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    boost::system::error_code ignored;
    acceptor.close(ignored);
    return fail(errc::unreachable, fmt::format("can't listen on {}: {}", to_text(at), error.message()));
  }
  impl_->tasks.spawn("mesh: listen", Impl::listen(impl_));
  return Address{at.host, acceptor.local_endpoint().port()};
}

Task<Result<std::unique_ptr<Stream>>> TlsNetwork::dial(Place place, std::vector<NodeId> pins, Purpose purpose) {
  return Impl::dial(impl_, std::move(place), std::move(pins), purpose);
}

Task<Result<std::unique_ptr<Stream>>> TlsNetwork::accept() { return Impl::accept(impl_); }

std::size_t TlsNetwork::pending() const { return impl_->pending.size(); }

}  // namespace corral::mesh
