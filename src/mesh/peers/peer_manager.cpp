#include "mesh/peers/peer_manager.h"

#include <algorithm>

#include "mesh/identity/errors.h"
#include "mesh/peers/peer_manager_parts.h"

namespace corral::mesh {
namespace {

using async::Task;
using PartsPtr = std::shared_ptr<PeerManagerParts>;

constexpr Millis kFarewell{2000};
constexpr Millis kLeave{3000};

Task<bool> finish_all(std::vector<std::shared_ptr<Link>> links) {
  for (const auto& link : links) co_await link->finished();
  co_return true;
}

Task<StreamResult> open_held(PartsPtr parts, NodeId peer, Purpose purpose) {
  auto opening = parts->opener.open(peer, purpose);
  co_return co_await std::move(opening);
}

PeerState state_of(const PeerLink& link, const DialRules& rules, MonoTime now) {
  if (link.is_up()) return PeerState::up;
  const auto gone = std::chrono::duration_cast<Millis>(now - link.fresh_since());
  return is_fresh(rules, gone) ? PeerState::dialling : PeerState::waiting;
}

PeerView view_of(const PeerRecord& peer) {
  PeerView view;
  view.id = peer.id;
  view.key = peer.key;
  view.since = peer.link.since();
  if (const auto& link = peer.link.get()) {
    view.dialled = link->peer().dialled;
    view.address = link->peer().address;
    view.round_trip = link->round_trip();
  }
  view.addresses = peer.addresses.all();
  if (peer.claim) view.boot = peer.claim->boot;
  view.minor = peer.link.minor();
  view.last_end = peer.link.last_end();
  view.last_failure = peer.link.last_failure();
  view.links = peer.link.count();
  view.bytes_in = peer.streams.bytes().in;
  view.bytes_out = peer.streams.bytes().out;
  view.streams_to = peer.streams.in_use_to();
  view.streams_from = peer.streams.in_use_from();
  return view;
}

}  // namespace

PeerManager::PeerManager(async::Executor executor, async::Timers& timers, const SigningKey& own, MemberStore& store,
                         JoinTokenStore& tokens, PeerManagerOptions options)
    : parts_(std::make_shared<PeerManagerParts>(executor, timers, own, store, tokens, std::move(options))) {
  parts_->peers.own_by(parts_);
}

PeerManager::~PeerManager() { parts_->end(); }

PeerAuthorizer PeerManager::authorizer() const {
  return [weak = std::weak_ptr(parts_)](const PublicKey& key, Purpose purpose) -> Result<> {
    const auto parts = weak.lock();
    return parts ? parts->acceptor.may_come(key, purpose) : fail(errc::link_closed, "this node stops");
  };
}

void PeerManager::start(Network& network) { parts_->start(network); }

Task<void> PeerManager::stop() {
  const auto parts = parts_;
  parts->peers.stop();
  auto links = parts->peers.links();
  for (const auto& link : links) link->close(CloseReason::stopping);
  auto finishing = finish_all(std::move(links));
  co_await async::with_timeout(parts->peers.timers(), kFarewell, std::move(finishing));
  parts->end();
  co_await PeerManagerParts::until_unwound(parts);
}

void PeerManager::members_changed() { parts_->sync.members_changed(); }

Task<Result<>> PeerManager::revoke(std::vector<NodeId> nodes) {
  const auto parts = parts_;
  for (const auto& id : nodes) {
    if (parts->peers.has_ended()) co_return fail(errc::link_closed, "this node stops");
    const auto peer = parts->peers.find(id);
    if (!peer) co_return fail(errc::not_a_member, to_text(id) + " isn't a known other member of the mesh");
    const auto key = peer->key;
    auto keep = parts->store.set().admitted_by(key);
    auto revoking = parts->store.revoke(parts->own, key, std::move(keep));
    const auto revoked = co_await std::move(revoking);
    if (!revoked) co_return revoked;
    if (!parts->peers.has_ended()) parts->sync.members_changed();
  }
  co_return Result<>();
}

Task<Result<std::size_t>> PeerManager::leave() {
  const auto parts = parts_;
  const auto key = parts->own.public_key();
  const auto links = parts->peers.links();
  auto keep = parts->store.set().admitted_by(key);
  auto revoking = parts->store.revoke(parts->own, key, std::move(keep));
  const auto revoked = co_await std::move(revoking);
  if (!revoked) co_return std::unexpected(revoked.error());
  // Peers end the link after they have learnt the revoke.
  parts->peers.stop();
  parts->sync.members_changed();
  auto finishing = finish_all(links);
  co_await async::with_timeout(parts->peers.timers(), kLeave, std::move(finishing));
  const auto notified = std::ranges::count_if(links, [](const auto& link) {
    const auto& why = link->closing();
    return why && why->by_peer && why->reason == CloseReason::revoked;
  });
  parts->end();
  co_await PeerManagerParts::until_unwound(parts);
  co_return static_cast<std::size_t>(notified);
}

void PeerManager::set_addresses(std::vector<Address> addresses) {
  parts_->exchanger.set_addresses(std::move(addresses));
}
void PeerManager::listen(PeerEvents& events) { parts_->listeners.add(events); }
void PeerManager::forget(PeerEvents& events) { parts_->listeners.remove(events); }
const NodeId& PeerManager::own() const { return parts_->peers.own(); }
const Boot& PeerManager::boot() const { return parts_->claims.boot(); }

std::vector<PeerView> PeerManager::view() const {
  std::vector<PeerView> views;
  for (const auto& [id, peer] : parts_->peers.all()) {
    views.push_back(view_of(*peer));
    views.back().state = state_of(peer->link, parts_->dial_rules, parts_->peers.now());
  }
  return views;
}

bool PeerManager::is_up(const NodeId& peer) const {
  const auto found = parts_->peers.find(peer);
  return found && found->link.is_up();
}

void PeerManager::send(const NodeId& peer, Frame frame) {
  if (const auto found = parts_->peers.find(peer)) found->link.send(std::move(frame));
}

Task<Result<std::unique_ptr<Stream>>> PeerManager::open(NodeId peer, Purpose purpose) {
  return open_held(parts_, peer, purpose);
}

void PeerManager::on_stream(Purpose purpose, StreamHandler handler) {
  parts_->streams.set_handler(purpose, std::move(handler));
}

std::vector<InFlightId> PeerManager::listed_by(const NodeId& peer) const {
  const auto found = parts_->peers.find(peer);
  return found && found->link.is_up() ? found->link.get()->peer_holds() : std::vector<InFlightId>();
}

std::optional<MonoTime> PeerManager::last_heartbeat(const NodeId& peer) const {
  const auto found = parts_->peers.find(peer);
  return found && found->link.is_up() ? std::optional(found->link.get()->last_heartbeat()) : std::nullopt;
}

void PeerManager::hold(const NodeId& for_peer, InFlightId id) {
  if (const auto peer = parts_->peers.find(for_peer)) peer->in_flight.insert(id);
}

void PeerManager::release(const NodeId& for_peer, InFlightId id) {
  const auto peer = parts_->peers.find(for_peer);
  if (!peer) return;
  if (const auto found = peer->in_flight.find(id); found != peer->in_flight.end()) peer->in_flight.erase(found);
}

void PeerManager::hint(const NodeId& peer, const Address& address) {
  const auto found = parts_->peers.find(peer);
  if (!found || found->link.is_up() || !found->hints.take(parts_->peers.now())) return;
  found->addresses.hinted(address);
  found->stir.raise();
}

bool PeerManager::take_load(const NodeId& peer) {
  const auto found = parts_->peers.find(peer);
  return found && found->loads.take(parts_->peers.now());
}

}  // namespace corral::mesh
