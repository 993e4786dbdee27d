#include "mesh/peers/streams/stream_opener.h"

#include <algorithm>

#include <fmt/format.h>

#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kOpen{5000};
constexpr Millis kDial{1500};
constexpr Millis kNotDialable{60000};  // for a peer that never answered a dial: ask it to dial us instead
constexpr Millis kNotNow{5000};        // for a peer that has answered before
constexpr Millis kTidy{10000};
constexpr Millis kRefillAfter{100};     // so that the handshake doesn't delay a request that has just begun
constexpr std::size_t kSpare = 2;       // http streams that wait, for each peer
constexpr std::size_t kMaxRefills = 4;  // at a time

std::unexpected<Error> no_link(const PeerRecord& peer) {
  auto text = fmt::format("no link to node {}", short_text(peer.id));
  if (const auto& failure = peer.link.last_failure(); !failure.empty()) text += fmt::format(" ({})", failure);
  return fail(errc::unreachable, std::move(text));
}

}  // namespace

Task<StreamResult> StreamOpener::open(NodeId id, Purpose purpose) {
  if (peers_.has_ended()) co_return fail(errc::link_closed, "this node stops");
  const auto peer = peers_.find(id);
  if (!peer || peers_.is_stopping()) {
    const bool revoked = store_.set().standing(id) == MembershipStatus::revoked;
    co_return fail(revoked ? errc::revoked : errc::unreachable,
                   fmt::format("{} {}", short_text(id), revoked ? "was revoked" : "isn't a known member"));
  }
  const auto slots = peer->streams.to(purpose);
  if (!slots) co_return fail(errc::unreachable, "no streams of this purpose: only for requests, copies and splits");
  if (slots->full()) {
    co_return fail(errc::overloaded,
                   fmt::format("all {} streams to {} are in use: try again", slots->limit, short_text(id)));
  }
  auto slot = std::make_shared<Slot>(slots);
  auto body = purpose == Purpose::http ? peer->streams.take_spare() : nullptr;
  if (!body) {
    if (!peer->link.is_up()) co_return no_link(*peer);
    auto making = make(peer, purpose);
    auto made = co_await async::with_timeout(peers_.timers(), kOpen, std::move(making));
    if (!made) co_return fail(errc::timed_out, fmt::format("no stream to {} within the time limit", short_text(id)));
    if (!*made) co_return std::unexpected(made->error());
    if (peer->gone || !peer->link.is_up()) co_return fail(errc::link_closed, "the link ended meanwhile");
    body = peer->streams.track(std::move(**made), purpose);
  }
  body->slot = std::move(slot);
  refill_soon(*peer);
  co_return std::make_unique<TrackedStream>(std::move(body));
}

Task<StreamResult> StreamOpener::make(PeerPtr peer, Purpose purpose) {
  auto addresses = peer->addresses.all();
  if (!addresses.empty() && peers_.now() >= peer->not_dialable_until) {
    auto dialling = dialler_.dial_any(peer, std::move(addresses), purpose);
    auto dialled = co_await async::with_timeout(peers_.timers(), kDial, std::move(dialling));
    if (dialled && *dialled) co_return std::move(*dialled);
    if (dialled && dialled->error().code == errc::revoked) co_return std::move(*dialled);
    peer->not_dialable_until = peers_.now() + (peer->addresses.proven() ? kNotNow : kNotDialable);
  }
  auto asking = reverse_.ask(peer, purpose);
  auto asked = co_await std::move(asking);
  co_return asked;
}

void StreamOpener::refill() {
  for (const auto& [id, peer] : peers_.all()) {
    if (refills_ >= kMaxRefills || peers_.is_stopping()) return;
    if (!peer->link.is_up() || peer->refilling > 0 || peer->streams.spares() >= kSpare) continue;
    if (peers_.now() < peer->refill_after) continue;
    peers_.run_for(*peer, "mesh peers: spare stream", refill_one(peer));
  }
}

void StreamOpener::refill_soon(PeerRecord& peer) {
  peer.refill_after = std::max(peer.refill_after, peers_.now() + kRefillAfter);
  if (!std::exchange(refill_due_, true)) peers_.run("mesh peers: spare streams", refill_later());
}

Task<void> StreamOpener::refill_later() {
  co_await peers_.timers().sleep_for(kRefillAfter);
  refill_due_ = false;
  refill();
}

Task<void> StreamOpener::refill_one(PeerPtr peer) {
  {
    const Counted counted(refills_), refilling(peer->refilling);
    auto making = make(peer, Purpose::http);
    auto made = co_await async::with_timeout(peers_.timers(), kOpen, std::move(making));
    if (made && *made && peer->link.is_up() && !peer->gone) {
      peer->streams.add_spare(std::move(**made));
    } else {
      peer->refill_after = peers_.now() + kTidy;
    }
  }
  refill();
}

Task<void> StreamOpener::tidy() {
  while (!peers_.is_stopping()) {
    co_await peers_.timers().sleep_for(kTidy);
    for (const auto& [id, peer] : peers_.all()) peer->streams.drop_ended_spares();
    refill();
  }
}

}  // namespace corral::mesh
