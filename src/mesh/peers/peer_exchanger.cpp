#include "mesh/peers/peer_exchanger.h"

#include <algorithm>

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kPublishAgain{250};

void shorten(std::vector<Address>& addresses) {
  if (addresses.size() > kMaxAddressesOfNode) addresses.resize(kMaxAddressesOfNode);
}

// The host of the peer's connection, with the ports that it listens on: so a peer need not know its own address.
std::vector<Address> seen_at(const Link& link, const std::vector<Address>& addresses) {
  std::vector<Address> seen;
  const auto from = parse_address(link.peer().address);
  if (link.peer().dialled || !from) return seen;
  for (const auto& address : addresses) {
    const Address candidate{from->host, address.port};
    if (std::ranges::find(seen, candidate) == seen.end()) seen.push_back(candidate);
  }
  return seen;
}

}  // namespace

PeerExchanger::PeerExchanger(PeerTable& peers, const EpochClaims& claims, PeerFileWriter& file,
                             std::vector<Address> own_addresses)
    : peers_(peers), claims_(claims), file_(file), own_addresses_(std::move(own_addresses)) {
  shorten(own_addresses_);
}

void PeerExchanger::set_addresses(std::vector<Address> addresses) {
  shorten(addresses);
  own_addresses_ = std::move(addresses);
  publish();
}

PeerExchange PeerExchanger::make_exchange() const {
  PeerExchange exchange{claims_.own(), {{peers_.own(), true, own_addresses_}}};
  for (const auto& [id, peer] : peers_.all()) {
    const bool linked = peer->link.is_up();
    if (auto first_hand = peer->addresses.first_hand(); linked || !first_hand.empty())
      exchange.nodes.push_back({id, linked, std::move(first_hand)});
  }
  return exchange;
}

void PeerExchanger::publish() {
  if (peers_.is_stopping() || due_) return;
  auto payload = encode(make_exchange());
  if (payload == sent_) return;  // newer links got all of it
  if (!pace_.take(peers_.now())) {
    due_ = true;
    peers_.run("mesh peers: send addresses", publish_later());
    return;
  }
  for (const auto& [id, peer] : peers_.all()) peer->link.send({FrameKind::peer_exchange, payload});
  sent_ = std::move(payload);
}

Task<void> PeerExchanger::publish_later() {
  co_await peers_.timers().sleep_for(kPublishAgain);
  due_ = false;
  publish();
}

void PeerExchanger::send_to(PeerRecord& peer) {
  auto payload = encode(make_exchange());
  if (payload != sent_) sent_.clear();
  peer.link.send({FrameKind::peer_exchange, std::move(payload)});
}

Result<> PeerExchanger::take(PeerRecord& peer, const Frame& frame) {
  const auto exchange = decode_peer_exchange(frame.payload);
  if (!exchange) return std::unexpected(exchange.error());
  if (EpochClaims::learn(peer, exchange->claim)) file_.remember();
  std::set<NodeId> reaches;
  bool first_hand = false, changed = false;
  for (const auto& entry : exchange->nodes) {
    if (entry.id == peers_.own()) continue;
    if (entry.id == peer.id) {
      first_hand |= take_own(peer, entry.addresses);
    } else if (peers_.find(entry.id)) {
      if (entry.linked) reaches.insert(entry.id);
      changed |= take_other(peer, entry);
    }
  }
  if (changed || first_hand) file_.remember();
  if (first_hand) publish();
  peer.reaches = std::move(reaches);
  return {};
}

// True if it is news.
bool PeerExchanger::take_own(PeerRecord& peer, const std::vector<Address>& announced) {
  auto addresses = announced;
  for (auto& seen : seen_at(*peer.link.get(), announced)) {
    if (std::ranges::find(addresses, seen) == addresses.end()) addresses.push_back(std::move(seen));
  }
  if (!peer.addresses.announced(std::move(addresses))) return false;
  peer.may_be_dialled();
  return true;
}

// True if an address is news.
bool PeerExchanger::take_other(const PeerRecord& sender, const PeerExchange::Node& entry) {
  auto& other = *peers_.find(entry.id);
  // Another node has a new link to it, so it is alive: dial it often again.
  if (entry.linked && !sender.reaches.contains(entry.id) && !other.link.is_up() && other.hints.take(peers_.now())) {
    other.link.refresh(peers_.now());
    other.stir.raise();
  }
  const bool lost = other.addresses.all().empty();
  bool changed = false;
  for (const auto& address : entry.addresses) {
    if (std::ranges::find(own_addresses_, address) == own_addresses_.end())
      changed |= other.addresses.reported(address);
  }
  if (lost) other.stir.raise();
  return changed;
}

}  // namespace corral::mesh
