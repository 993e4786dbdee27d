#include "fleet/switched_peers.h"

#include "mesh/identity/errors.h"

namespace corral::fleet {

using async::Task;

namespace {

std::unexpected<Error> no_mesh() { return fail(mesh::errc::unreachable, "this node is in no mesh"); }

}  // namespace

void SwitchedPeers::on(mesh::Peers& peers) {
  peers_ = &peers;
  for (auto* listener : listeners_) peers.listen(*listener);
  for (std::size_t purpose = 0; purpose < handlers_.size(); ++purpose) {
    if (handlers_[purpose]) peers.on_stream(static_cast<mesh::Purpose>(purpose), handlers_[purpose]);
  }
}

void SwitchedPeers::off() {
  if (peers_ == nullptr) return;
  for (auto* listener : listeners_) peers_->forget(*listener);
  peers_ = nullptr;
}

void SwitchedPeers::listen(mesh::PeerEvents& events) {
  listeners_.push_back(&events);
  if (peers_ != nullptr) peers_->listen(events);
}

void SwitchedPeers::forget(mesh::PeerEvents& events) {
  std::erase(listeners_, &events);
  if (peers_ != nullptr) peers_->forget(events);
}

std::vector<mesh::PeerView> SwitchedPeers::view() const {
  return peers_ != nullptr ? peers_->view() : std::vector<mesh::PeerView>();
}

void SwitchedPeers::send(const mesh::NodeId& peer, mesh::Frame frame) {
  if (peers_ != nullptr) peers_->send(peer, std::move(frame));
}

Task<Result<>> SwitchedPeers::deliver(mesh::NodeId peer, mesh::Frame frame) {
  if (peers_ == nullptr) co_return no_mesh();
  auto delivering = peers_->deliver(peer, std::move(frame));
  co_return co_await std::move(delivering);
}

Task<Result<std::unique_ptr<mesh::Stream>>> SwitchedPeers::open(mesh::NodeId peer, mesh::Purpose purpose) {
  if (peers_ == nullptr) co_return no_mesh();
  auto opening = peers_->open(peer, purpose);
  co_return co_await std::move(opening);
}

void SwitchedPeers::give_back(std::unique_ptr<mesh::Stream> stream) {
  if (peers_ != nullptr) peers_->give_back(std::move(stream));
}

void SwitchedPeers::on_stream(mesh::Purpose purpose, StreamHandler handler) {
  handlers_[static_cast<std::size_t>(purpose)] = handler;
  if (peers_ != nullptr) peers_->on_stream(purpose, std::move(handler));
}

std::vector<mesh::HeldId> SwitchedPeers::held_by(const mesh::NodeId& peer) const {
  return peers_ != nullptr ? peers_->held_by(peer) : std::vector<mesh::HeldId>();
}

std::optional<MonoTime> SwitchedPeers::last_heartbeat(const mesh::NodeId& peer) const {
  return peers_ != nullptr ? peers_->last_heartbeat(peer) : std::nullopt;
}

void SwitchedPeers::hold(const mesh::NodeId& for_peer, mesh::HeldId id) {
  if (peers_ != nullptr) peers_->hold(for_peer, id);
}

void SwitchedPeers::release(const mesh::NodeId& for_peer, mesh::HeldId id) {
  if (peers_ != nullptr) peers_->release(for_peer, id);
}

Task<mesh::Closing> SwitchedPeers::until_down(mesh::NodeId peer) {
  if (peers_ == nullptr) co_return mesh::Closing{mesh::CloseReason::lost, false, "this node is in no mesh"};
  auto waiting = peers_->until_down(peer);
  co_return co_await std::move(waiting);
}

void SwitchedPeers::hint(const mesh::NodeId& peer, const mesh::Address& address) {
  if (peers_ != nullptr) peers_->hint(peer, address);
}

bool SwitchedPeers::take(const mesh::NodeId& peer, mesh::Allowance what) {
  return peers_ != nullptr && peers_->take(peer, what);
}

}  // namespace corral::fleet
