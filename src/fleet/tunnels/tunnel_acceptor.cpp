#include "fleet/tunnels/tunnel_acceptor.h"

#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "fleet/tunnels/pump.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {
namespace {

namespace asio = async::asio;
using async::Task;

constexpr Millis kPreamble{3000};
constexpr Millis kAnswerTimeout{1000};  // for delivery of an answer
constexpr std::size_t kPiece = 64 * 1024;

Task<Result<TunnelAsk>> read_ask(mesh::Stream& stream) {
  const auto head = co_await mesh::read_exactly(stream, kTunnelHead);
  if (!head) co_return std::unexpected(head.error());
  const auto length = tunnel_length(*head, kMaxTunnelAsk);
  if (!length) co_return std::unexpected(length.error());
  const auto ask = co_await mesh::read_exactly(stream, *length);
  if (!ask) co_return std::unexpected(ask.error());
  co_return decode_tunnel_ask(*ask);
}

Task<bool> send_answer(mesh::Stream& stream, std::string answer, bool and_end) {
  const auto written = co_await stream.write(answer);
  if (written && and_end) co_await stream.finish();
  co_return written.has_value();
}

}  // namespace

// Data of its streams, also while they unwind.
struct TunnelAcceptor::Core {
  // The preamble of the stream, after an accepting answer was sent; nullopt: refused or closed.
  static Task<std::optional<TunnelAsk>> admit(std::shared_ptr<Core> core, mesh::Stream& stream);
  static Task<Result<std::string>> find_worker(std::shared_ptr<Core> core, mesh::NodeId from, TunnelAsk ask);
  static Task<void> serve(std::shared_ptr<Core> core, std::unique_ptr<mesh::Stream> stream);

  TunnelParts parts;
  Find find;
};

Task<Result<std::string>> TunnelAcceptor::Core::find_worker(std::shared_ptr<Core> core, mesh::NodeId from,
                                                            TunnelAsk ask) {
  auto finding = core->find(from, ask.model, ask.of);
  auto found = co_await async::with_timeout(core->parts.timers, kPatience, std::move(finding));
  if (found) co_return std::move(*found);
  co_return fail(mesh::errc::timed_out, "the worker didn't start in time");
}

Task<std::optional<TunnelAsk>> TunnelAcceptor::Core::admit(std::shared_ptr<Core> core, mesh::Stream& stream) {
  auto reading = read_ask(stream);
  const auto received = co_await async::with_timeout(core->parts.timers, kPreamble, std::move(reading));
  if (!received) co_return std::nullopt;
  std::optional<std::string> refusal;
  if (*received) {
    auto finding = find_worker(core, stream.peer().id, **received);
    const auto worker = co_await std::move(finding);
    if (!worker) refusal = worker.error().message;
  } else {
    refusal = received->error().message;
  }
  auto sending = send_answer(stream, encode_tunnel_answer(refusal), refusal.has_value());
  const auto sent = co_await async::with_timeout(core->parts.timers, kAnswerTimeout, std::move(sending));
  if (refusal || !sent || !*sent) co_return std::nullopt;
  co_return **received;
}

Task<void> TunnelAcceptor::Core::serve(std::shared_ptr<Core> core, std::unique_ptr<mesh::Stream> stream) {
  auto admitting = admit(core, *stream);
  const auto ask = co_await std::move(admitting);
  if (!ask) co_return;
  // Connects to the worker with the engine's first byte, since a worker serves one connection at a time.
  const auto there = co_await stream->readable();
  if (!there || !*there) co_return;
  auto finding = find_worker(core, stream->peer().id, *ask);
  const auto worker = co_await std::move(finding);
  if (!worker) {
    log::info("fleet", "a tunnel stream of {} came too late: {}", mesh::short_text(stream->peer().id),
              worker.error().message);
    co_return;
  }
  LocalSocket socket(core->parts.executor);
  const LocalSocket::endpoint_type place{asio::local::stream_protocol::endpoint(*worker)};
  const auto [failed] = co_await socket.async_connect(place, async::as_value);
  if (failed) {
    log::warning("fleet", "can't connect to the worker at {}: {}", *worker, failed.message());
    co_return;
  }
  auto pumping = pump(std::move(stream), std::move(socket), {.side = SocketSide::speaks, .piece = kPiece});
  co_await std::move(pumping);
}

TunnelAcceptor::TunnelAcceptor(TunnelParts parts, Find find)
    : parts_(parts), core_(std::make_shared<Core>(Core{parts, std::move(find)})), streams_(parts.executor) {
  parts_.peers.on_stream(mesh::Purpose::rpc, [this](std::unique_ptr<mesh::Stream> stream) {
    streams_.spawn("tunnel: stream", Core::serve(core_, std::move(stream)));
  });
}

TunnelAcceptor::~TunnelAcceptor() {
  parts_.peers.on_stream(mesh::Purpose::rpc, {});
  streams_.cancel();
}

Task<void> TunnelAcceptor::stop() {
  parts_.peers.on_stream(mesh::Purpose::rpc, {});
  streams_.cancel();
  co_await streams_.join();
}

}  // namespace corral::fleet
