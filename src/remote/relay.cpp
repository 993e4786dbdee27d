#include "remote/relay.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "async/parallel_group.h"
#include "base/log.h"

namespace corral::remote {
namespace {

namespace asio = async::asio;
using async::Task;
using Unix = asio::basic_stream_socket<asio::local::stream_protocol, async::Executor>;
using Tcp = asio::basic_stream_socket<asio::ip::tcp, async::Executor>;

constexpr std::size_t kBytes = 128 * 1024;
constexpr std::chrono::seconds kPatience(5);
constexpr Millis kBetween(5);  // attempts
constexpr int kWaiting = 32;   // connections that are not yet accepted
constexpr std::chrono::minutes kBetweenComplaints(1);

// Until `from` ends; then shuts down `to`.
template <typename From, typename To>
Task<void> pump(From& from, To& to) {
  std::vector<char> space(kBytes);
  while (true) {
    const auto [failed, got] = co_await from.async_read_some(asio::buffer(space), async::as_value);
    if (failed) break;
    const auto [stuck, wrote] = co_await asio::async_write(to, asio::buffer(space.data(), got), async::as_value);
    if (stuck) break;
  }
  boost::system::error_code gone;
  to.shutdown(asio::socket_base::shutdown_send, gone);
}

Task<bool> connect(Tcp& socket, async::Timers& timers, std::uint16_t port) {
  const asio::ip::tcp::endpoint place(asio::ip::address_v4::loopback(), port);
  for (const MonoTime end = timers.now() + kPatience; timers.now() < end;) {
    const auto [failed] = co_await socket.async_connect(place, async::as_value);
    if (!failed) co_return true;
    boost::system::error_code ignored;
    socket.close(ignored);
    co_await timers.sleep_for(kBetween);
  }
  co_return false;
}

Error failed(const std::string& what) { return {std::error_code(errno, std::system_category()), what}; }

}  // namespace

Relay::Relay(async::Executor executor, async::Timers& timers, UniqueFd listener, std::uint16_t port)
    : timers_(timers),
      acceptor_(executor, asio::local::stream_protocol(), listener.release()),
      port_(port),
      connections_(executor) {}

Task<void> Relay::run() {
  while (true) {
    auto [failed, socket] = co_await acceptor_.async_accept(async::as_value);
    if (failed == asio::error::operation_aborted) co_return;
    if (failed) {
      co_await timers_.sleep_for(kBetween);  // such as no free descriptor
      continue;
    }
    if (connections_.running() < kMaxRelayed) {
      connections_.spawn("relay", pass_on(std::move(socket)));
    } else {
      refuse();
    }
  }
}

// Explains a load that hangs; the limit keeps the log small.
void Relay::refuse() {
  ++refused_;
  const auto now = timers_.now();
  if (logged_at_ && now - *logged_at_ < kBetweenComplaints) return;
  log::warning("worker", "the maximum of {} connections is open: closed {} more", kMaxRelayed, refused_ - logged_);
  logged_ = refused_;
  logged_at_ = now;
  ++complaints_;
}

Task<void> Relay::pass_on(Unix from) {
  const auto executor = co_await asio::this_coro::executor;
  Tcp to(executor);
  if (!co_await connect(to, timers_, port_)) co_return;
  to.set_option(asio::ip::tcp::no_delay(true));
  auto there = asio::co_spawn(executor, pump(from, to), asio::deferred);
  auto back = asio::co_spawn(executor, pump(to, from), asio::deferred);
  auto both = asio::experimental::make_parallel_group(std::move(there), std::move(back));
  // No half-close: the end of one direction ends both.
  co_await both.async_wait(asio::experimental::wait_for_one(), async::use_task);
}

Result<UniqueFd> listen_at(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return std::unexpected(failed(path));
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ::unlink(path.c_str());
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(socket.get(), kWaiting) != 0)
    return std::unexpected(failed(path));
  return socket;
}

}  // namespace corral::remote
