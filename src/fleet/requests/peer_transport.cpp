#include "fleet/requests/peer_transport.h"

#include <boost/asio/dispatch.hpp>

#include "base/log.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {
namespace {

std::unexpected<Error> no_mesh() { return fail(mesh::errc::unreachable, "this node is no longer in a mesh"); }

}  // namespace

void PeerTransport::attach(mesh::Peers& peers) {
  peers_ = &peers;
  peers.listen(*this);
  peers.on_stream(mesh::Purpose::http, [this](std::unique_ptr<mesh::Stream> stream) {
    auto peer = mesh::to_text(stream->peer().id);
    auto end = bridges_.make(std::move(stream), StreamBridges::Side::answers);
    if (!end) return log::warning("fleet", "can't accept a request of node {}: {}", peer, end.error().message);
    adopt_(std::move(*end), std::move(peer));
  });
  attached_.store(true, std::memory_order_release);
}

void PeerTransport::detach() {
  attached_.store(false, std::memory_order_release);
  if (peers_ == nullptr) return;
  peers_->on_stream(mesh::Purpose::http, {});
  peers_->forget(*this);
  peers_ = nullptr;
  reach_changed();
}

async::Task<Result<UniqueFd>> PeerTransport::connect(mesh::NodeId node) {
  if (!attached()) co_return no_mesh();
  auto connecting = async::run_on(mesh_, connect_here(node));
  co_return co_await std::move(connecting);
}

async::Task<Result<UniqueFd>> PeerTransport::connect_here(mesh::NodeId node) {
  if (peers_ == nullptr) co_return no_mesh();
  auto opening = peers_->open(node, mesh::Purpose::http);
  auto stream = co_await std::move(opening);
  if (!stream) co_return std::unexpected(stream.error());
  co_return bridges_.make(std::move(*stream), StreamBridges::Side::asks);
}

void PeerTransport::hold(const mesh::NodeId& node, mesh::InFlightId held) {
  async::asio::dispatch(mesh_, [self = self_, node, held] {
    if (auto* peers = peers_of(self)) peers->hold(node, held);
  });
}

void PeerTransport::release(const mesh::NodeId& node, mesh::InFlightId held) {
  async::asio::dispatch(mesh_, [self = self_, node, held] {
    if (auto* peers = peers_of(self)) peers->release(node, held);
  });
}

async::Task<bool> PeerTransport::take_load(mesh::NodeId node, LoadRule rule) {
  if (!attached()) co_return false;
  auto taking = async::run_on(mesh_, take_load_here(node, std::move(rule)));
  co_return co_await std::move(taking);
}

async::Task<bool> PeerTransport::take_load_here(mesh::NodeId node, LoadRule rule) {
  co_return rule([&] { return peers_ != nullptr && peers_->take_load(node); });
}

}  // namespace corral::fleet
