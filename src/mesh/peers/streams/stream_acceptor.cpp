#include "mesh/peers/streams/stream_acceptor.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kLinkBehind{3000};  // a stream may come before its link is up at this side

Task<bool> until_link(PeerPtr peer) {
  while (!peer->link.is_up()) co_await peer->link.changed().next();
  co_return true;
}

}  // namespace

void StreamAcceptor::take(const PeerPtr& peer, std::unique_ptr<Stream> stream, Purpose purpose) {
  if (!peer->streams.may_park()) return;
  auto body = peer->streams.track(std::move(stream), purpose);
  peers_.run_for(*peer, "mesh peers: waiting stream", wait_for_use(peer, std::move(body)));
}

Task<void> StreamAcceptor::wait_for_use(PeerPtr peer, BodyPtr body) {
  const auto counted = peer->streams.count_parked();
  if (!peer->link.is_up()) {
    auto link = until_link(peer);
    const auto came = co_await async::with_timeout(peers_.timers(), kLinkBehind, std::move(link));
    if (!came) co_return;
  }
  auto reading = body->inner->readable();
  const auto there = co_await std::move(reading);
  if (!there || !*there) co_return;
  const auto slots = peer->streams.from(body->purpose);
  while (slots->full()) co_await slots->freed.next();
  const auto handler = handlers_.find(body->purpose);
  if (handler == handlers_.end() || !handler->second) co_return;
  body->slot = std::make_shared<Slot>(slots);
  const auto take = handler->second;
  take(std::make_unique<TrackedStream>(std::move(body)));
}

}  // namespace corral::mesh
