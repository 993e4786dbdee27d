#include "mesh/peers/dial/reverse_dialler.h"

#include <fmt/format.h>

#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kAsked{2500};
constexpr Millis kAnswer{1500};
constexpr Millis kFirstWord{3000};
constexpr std::size_t kNumber = 8;  // bytes

Task<bool> until_arrived(std::shared_ptr<ExpectedStream> expected) {
  while (!expected->stream && !expected->given_up) co_await expected->arrived.next();
  co_return expected->stream != nullptr;
}

struct Forget {
  ~Forget() { peer->reverse.forget(number); }
  PeerPtr peer;
  std::uint64_t number;
};

}  // namespace

Task<StreamResult> ReverseDialler::ask(PeerPtr peer, Purpose purpose) {
  const std::uint64_t number = chance_();
  const auto expected = peer->reverse.expect(number);
  const Forget forget{peer, number};
  peer->link.send({FrameKind::dial_me, encode(ReverseDialRequest{number, purpose})});
  auto arriving = until_arrived(expected);
  const auto arrived = co_await async::with_timeout(peers_.timers(), kAsked, std::move(arriving));
  if (!arrived || !*arrived) {
    co_return fail(
        errc::unreachable,
        fmt::format("{} can't be dialled from this node, and didn't dial this node on request", short_text(peer->id)));
  }
  co_return std::move(expected->stream);
}

void ReverseDialler::take_stream(const PeerPtr& peer, std::unique_ptr<Stream> stream) {
  if (peer->streams.may_park()) peers_.run_for(*peer, "mesh peers: take back", match(peer, std::move(stream)));
}

Task<void> ReverseDialler::match(PeerPtr peer, std::unique_ptr<Stream> stream) {
  const auto counted = peer->streams.count_parked();
  auto reading = read_exactly(*stream, kNumber);
  const auto word = co_await async::with_timeout(peers_.timers(), kFirstWord, std::move(reading));
  if (!word || !*word) co_return;
  peer->reverse.arrived(ByteReader(**word).number<std::uint64_t>(), std::move(stream));
}

Result<> ReverseDialler::take_request(const PeerPtr& peer, const Frame& frame) {
  const auto request = decode_dial_me(frame.payload);
  if (!request) return std::unexpected(request.error());
  if (!*request) return {};
  peer->reverse.add(**request);
  if (peer->answering == 0) peers_.run_for(*peer, "mesh peers: dial back", answer_all(peer));
  return {};
}

// One dial at a time, and only to addresses of the peer's own, with its key pinned.
Task<void> ReverseDialler::answer_all(PeerPtr peer) {
  const Counted answering(peer->answering);
  while (const auto request = peer->reverse.next()) {
    auto addresses = peer->addresses.first_hand();
    auto dialling = dialler_.dial_any(peer, std::move(addresses), Purpose::back);
    auto dialled = co_await async::with_timeout(peers_.timers(), kAnswer, std::move(dialling));
    if (!dialled || !*dialled || !peer->link.is_up()) continue;
    std::string number;
    ByteWriter(number).number<std::uint64_t>(request->number);
    auto writing = (**dialled)->write(number);
    const auto written = co_await std::move(writing);
    if (written) acceptor_.take(peer, std::move(**dialled), request->purpose);
  }
}

}  // namespace corral::mesh
