#include "mesh/peers/dial/peer_dialler.h"

#include <algorithm>

#include <fmt/format.h>

#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kMaxForStream{1500};
constexpr std::size_t kMaxTried = 3;

// A peer with a link answers soon, or isn't at that address.
Millis stream_limit(const PeerRecord& peer) {
  const auto& link = peer.link.get();
  const auto trip = link ? link->round_trip().value_or(Millis(0)) : Millis(0);
  return std::clamp(6 * trip, kMaxForStream / 3, kMaxForStream);
}

}  // namespace

Task<std::optional<StreamResult>> PeerDialler::dial(PeerPtr peer, Address address, Purpose purpose, Millis limit) {
  std::vector<NodeId> pins{peer->id};
  Place place(address, peer->addresses.origin_of(address));
  auto dialling = network_->dial(std::move(place), std::move(pins), purpose);
  auto dialled = co_await async::with_timeout(peers_.timers(), limit, std::move(dialling));
  if (dialled && !*dialled && dialled->error().code == errc::wrong_peer) peer->addresses.is_elsewhere(address);
  co_return dialled;
}

Task<StreamResult> PeerDialler::dial_any(PeerPtr peer, std::vector<Address> addresses, Purpose purpose) {
  StreamResult last = fail(errc::unreachable, fmt::format("{} has published no address", short_text(peer->id)));
  if (addresses.size() > kMaxTried) addresses.resize(kMaxTried);
  for (const auto& address : addresses) {
    if (peers_.is_stopping()) break;
    auto dialling = dial(peer, address, purpose, stream_limit(*peer));
    auto dialled = co_await std::move(dialling);
    if (!dialled) continue;
    last = std::move(*dialled);
    if (!last) continue;
    peer->addresses.proved(address);
    break;
  }
  co_return last;
}

Task<std::optional<StreamResult>> PeerDialler::dial_unnamed(Address address, std::vector<NodeId> pins, Millis limit) {
  Place place(std::move(address), Origin::settings);
  auto dialling = network_->dial(std::move(place), std::move(pins), Purpose::control);
  auto dialled = co_await async::with_timeout(peers_.timers(), limit, std::move(dialling));
  co_return dialled;
}

}  // namespace corral::mesh
