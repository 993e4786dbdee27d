#include "fleet/tunnels/tunnel_entry.h"

#include <deque>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "async/task_group.h"
#include "base/counted.h"
#include "base/log.h"
#include "fleet/tunnels/pump.h"
#include "fleet/tunnels/socket_owner.h"
#include "mesh/identity/errors.h"
#include "mesh/net/token_bucket.h"

namespace corral::fleet {
namespace {

namespace asio = async::asio;
using asio::ip::tcp;
using async::Task;
using Socket = asio::basic_stream_socket<tcp, async::Executor>;
using Acceptor = asio::basic_socket_acceptor<tcp, async::Executor>;
using StreamResult = Result<std::unique_ptr<mesh::Stream>>;

constexpr Millis kAnswer{18'000};          // of the far end, which waits for a starting worker
constexpr Millis kPause{100};              // after an error, such as no free descriptor
constexpr std::size_t kPiece = 64 * 1024;  // weights come in megabytes

}  // namespace

// Tasks share it, so that it outlives the entry until they have unwound.
struct TunnelEntry::Core : std::enable_shared_from_this<TunnelEntry::Core> {
  using Ptr = std::shared_ptr<Core>;

  Core(const TunnelParts& with, const mesh::NodeId& to, const TunnelAsk& what)
      : parts(with), worker(to), ask(what), acceptor(with.executor), tasks(with.executor) {}

  Result<> listen();
  static Task<StreamResult> make_stream(Ptr core);
  static Task<Result<>> present(mesh::Stream& stream, std::string ask);
  void fill();
  static Task<void> make_ready(Ptr core);
  Task<StreamResult> take_stream();
  static Task<void> accept_all(Ptr core);
  bool is_ours(const Socket& socket);
  void complain(std::string_view what);
  static Task<void> carry(Ptr core, Socket socket);
  // After it is closed, nothing may start: the entry's arguments may be destroyed.
  bool is_open() const { return acceptor.is_open(); }
  void end();

  const TunnelParts parts;
  const mesh::NodeId worker;
  const TunnelAsk ask;
  OwnerOf owner_of = owner_on_loopback;
  Acceptor acceptor;
  std::uint16_t port = 0;
  std::deque<std::unique_ptr<mesh::Stream>> ready;  // accepted by the far end
  std::size_t making = 0;
  std::size_t connections = 0;
  const std::shared_ptr<std::atomic<bool>> broken = std::make_shared<std::atomic<bool>>(false);
  // Each connection costs a query of its owner: a local user must not use up the mesh's loop.
  mesh::TokenBucket looks{{.each_second = 32, .at_once = 128}};
  mesh::TokenBucket complaints{{.each_second = 0.2, .at_once = 8}};
  async::TaskGroup tasks;
};

Result<> TunnelEntry::Core::listen() {
  boost::system::error_code failed;
  const tcp::endpoint place(asio::ip::address_v4::loopback(), 0);
  acceptor.open(place.protocol(), failed);
  if (!failed) acceptor.bind(place, failed);
  if (!failed) acceptor.listen(static_cast<int>(kMaxConnections), failed);
  if (!failed) port = acceptor.local_endpoint(failed).port();
  if (failed) return std::unexpected(Error(failed, "no loopback port for the engine of a split: " + failed.message()));
  return {};
}

// Opens a stream and waits for its acceptance. Errors: those of open().
Task<StreamResult> TunnelEntry::Core::make_stream(Ptr core) {
  auto opening = core->parts.peers.open(core->worker, mesh::Purpose::rpc);
  auto stream = co_await std::move(opening);
  if (!stream) co_return stream;
  auto presenting = present(**stream, encode(core->ask));
  const auto answered = co_await async::with_timeout(core->parts.timers, kAnswer, std::move(presenting));
  if (!answered) {
    co_return fail(mesh::errc::timed_out,
                   fmt::format("{} gave no answer about its worker in time", mesh::short_text(core->worker)));
  }
  if (!*answered) co_return std::unexpected(answered->error());
  co_return stream;
}

Task<Result<>> TunnelEntry::Core::present(mesh::Stream& stream, std::string ask) {
  const auto written = co_await stream.write(ask);
  if (!written) co_return written;
  const auto head = co_await mesh::read_exactly(stream, kTunnelHead);
  if (!head) co_return std::unexpected(head.error());
  const auto length = tunnel_length(*head, kMaxTunnelAnswer);
  if (!length) co_return std::unexpected(length.error());
  const auto answer = co_await mesh::read_exactly(stream, *length);
  if (!answer) co_return std::unexpected(answer.error());
  co_return decode_tunnel_answer(*answer);
}

// So that consecutive connections don't wait for a round trip.
void TunnelEntry::Core::fill() {
  if (!is_open()) return;
  // Each is tried once: it may fail before this returns.
  for (auto there = ready.size() + making; there < kReady; ++there)
    tasks.spawn("tunnel: spare stream", make_ready(shared_from_this()));
}

Task<void> TunnelEntry::Core::make_ready(Ptr core) {
  const Counted counted(core->making);
  auto making = make_stream(core);
  auto stream = co_await std::move(making);
  if (stream) {
    core->ready.push_back(std::move(*stream));
  } else {
    log::debug("fleet", "no spare stream to {}: {}", mesh::short_text(core->worker), stream.error().message);
  }
}

Task<StreamResult> TunnelEntry::Core::take_stream() {
  while (!ready.empty()) {
    auto stream = std::move(ready.front());
    ready.pop_front();
    if (!stream->is_quiet()) continue;
    fill();
    co_return stream;
  }
  auto one = make_stream(shared_from_this());
  auto stream = co_await std::move(one);
  if (stream) fill();
  co_return stream;
}

Task<void> TunnelEntry::Core::accept_all(Ptr core) {
  while (core->is_open()) {
    auto [failed, socket] = co_await core->acceptor.async_accept(async::as_value);
    if (failed == asio::error::operation_aborted) co_return;
    if (failed) {
      co_await core->parts.timers.sleep_for(kPause);
      continue;
    }
    while (!core->looks.take(core->parts.timers.now())) co_await core->parts.timers.sleep_for(kPause);
    if (!core->is_open()) co_return;
    if (!core->is_ours(socket)) continue;
    if (core->connections >= kMaxConnections) {
      core->complain(fmt::format("the engine of a split has {} connections, the maximum", kMaxConnections));
      continue;
    }
    core->tasks.spawn("tunnel: connection", carry(core, std::move(socket)));
  }
}

bool TunnelEntry::Core::is_ours(const Socket& socket) {
  boost::system::error_code failed;
  const auto from = socket.remote_endpoint(failed);
  if (failed) return false;
  const auto owner = owner_of(from.port(), port);
  if (owner && *owner == ::geteuid()) return true;
  complain(owner ? fmt::format("user {} connected to port {}, which is for the engine of a split only", *owner, port)
                 : fmt::format("unknown user connected to port {}, which is for the engine of a split only: {}", port,
                               owner.error().message));
  return false;
}

void TunnelEntry::Core::complain(std::string_view what) {
  if (complaints.take(parts.timers.now())) log::warning("fleet", "{}: refused", what);
}

Task<void> TunnelEntry::Core::carry(Ptr core, Socket socket) {
  const Counted counted(core->connections);
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  auto taking = core->take_stream();
  auto stream = co_await std::move(taking);
  if (!stream) {
    // The engine must not wait without end.
    *core->broken = true;
    log::warning("fleet", "no stream to the worker at {}: {}", mesh::short_text(core->worker), stream.error().message);
    co_return;
  }
  LocalSocket local(std::move(socket));
  PumpOptions options{
      .side = SocketSide::speaks, .piece = kPiece, .stream_ended_first = [broken = core->broken] { *broken = true; }};
  auto pumping = pump(std::move(*stream), std::move(local), std::move(options));
  co_await std::move(pumping);
}

void TunnelEntry::Core::end() {
  boost::system::error_code ignored;
  acceptor.close(ignored);
  ready.clear();
  tasks.cancel();
}

TunnelEntry::TunnelEntry(std::shared_ptr<Core> core) : core_(std::move(core)) {}
TunnelEntry::~TunnelEntry() { core_->end(); }

Task<Result<std::unique_ptr<TunnelEntry>>> TunnelEntry::open(TunnelParts parts, mesh::NodeId worker,
                                                             mesh::ContentKey model, mesh::PlanTerm of) {
  const auto core = std::make_shared<Core>(parts, worker, TunnelAsk{model, of});
  auto making = Core::make_stream(core);
  auto first = co_await std::move(making);
  if (!first) co_return std::unexpected(first.error());
  if (auto listening = core->listen(); !listening) co_return std::unexpected(listening.error());
  core->ready.push_back(std::move(*first));
  core->fill();
  core->tasks.spawn("tunnel: accept", Core::accept_all(core));
  co_return std::unique_ptr<TunnelEntry>(new TunnelEntry(core));
}

std::string TunnelEntry::endpoint() const { return fmt::format("127.0.0.1:{}", core_->port); }
std::size_t TunnelEntry::connections() const { return core_->connections; }
std::shared_ptr<const std::atomic<bool>> TunnelEntry::broken() const { return core_->broken; }
void TunnelEntry::ask_owner_of(OwnerOf owner_of) { core_->owner_of = std::move(owner_of); }

}  // namespace corral::fleet
