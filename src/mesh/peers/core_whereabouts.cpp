// Who is where: told to all, taken from all, kept on disk.
#include <algorithm>

#include "base/log.h"
#include "mesh/identity/errors.h"
#include "mesh/peers/core.h"
#include "mesh/peers/peer_file.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kTellAgain{250};
constexpr Millis kWriteAfter{1000};

Task<void> tell_later(PeersCore::Ptr core) {
  co_await core->timers.sleep_for(kTellAgain);
  core->whereabouts_due = false;
  core->tell_whereabouts();
}

Task<void> write_later(PeersCore::Ptr core) {
  co_await core->timers.sleep_for(kWriteAfter);
  core->write_file();
}

// The host that a connection of the peer comes from, with the ports that it listens on: it need not know its own
// address.
std::vector<Address> seen_at(const Link& link, const std::vector<Address>& said) {
  std::vector<Address> seen;
  const auto from = parse_address(link.peer().address);
  if (link.peer().dialled || !from) return seen;
  for (const auto& address : said) {
    const Address candidate{from->host, address.port};
    if (std::ranges::find(seen, candidate) == seen.end()) seen.push_back(candidate);
  }
  return seen;
}

}  // namespace

Whereabouts PeersCore::whereabouts() const {
  Whereabouts told{claim, {{own_id, true, options.addresses}}};
  for (const auto& [id, node] : nodes) {
    if (const auto first_hand = node->addresses.first_hand(); node->link || !first_hand.empty())
      told.nodes.push_back({id, node->link != nullptr, first_hand});
  }
  return told;
}

void PeersCore::tell_whereabouts() {
  if (stopping || whereabouts_due) return;
  auto payload = encode(whereabouts());
  if (payload == whereabouts_told) return;  // who came since was told all
  if (!whereabouts_pace.take(timers.now())) {
    whereabouts_due = true;
    run("mesh peers: tell whereabouts", tell_later(shared_from_this()));
    return;
  }
  for (const auto& [id, node] : nodes) send(*node, {FrameKind::whereabouts, payload});
  whereabouts_told = std::move(payload);
}

Result<> PeersCore::take_whereabouts(const NodePtr& node, const Frame& frame) {
  const auto told = decode_whereabouts(frame.payload);
  if (!told) return std::unexpected(told.error());
  learn_claim(*node, told->claim);
  std::set<NodeId> reaches;
  bool news = false, first_hand = false;
  for (const auto& entry : told->nodes) {
    if (entry.id == own_id) continue;
    if (entry.id == node->id) {
      auto said = entry.addresses;
      for (auto& seen : seen_at(*node->link, said)) {
        if (std::ranges::find(said, seen) == said.end()) said.push_back(std::move(seen));
      }
      if (!node->addresses.said(std::move(said))) continue;
      news = first_hand = true;
      node->not_dialable_until = {};
      node->refill_after = {};
      continue;
    }
    const auto other = find(entry.id);
    if (!other) continue;
    if (entry.linked) reaches.insert(entry.id);
    // Somebody has just got a link to it: it lives, so it is worth dialling again.
    if (entry.linked && !node->reaches.contains(entry.id) && !other->link && other->hints.take(timers.now())) {
      other->fresh_since = timers.now();
      other->stir.raise();
    }
    const bool lost = other->addresses.all().empty();
    for (const auto& address : entry.addresses) {
      if (std::ranges::find(options.addresses, address) != options.addresses.end()) continue;
      news |= other->addresses.told(address);
    }
    if (lost) other->stir.raise();
  }
  if (news) remember();
  if (first_hand) tell_whereabouts();
  refill();
  node->reaches = std::move(reaches);
  return {};
}

// Those who wait for its end, and those who wait for it to dial.
void PeersCore::tell_waiters(Node& node, const Closing& why) {
  for (const auto& waiter : std::exchange(node.waiters, {})) {
    waiter->why = why;
    waiter->down.raise();
  }
  for (const auto& [number, expected] : node.expected) {
    expected->given_up = true;
    expected->arrived.raise();
  }
}

void PeersCore::reach_changed(const Closing& why) {
  bool changed = false;
  for (const auto& [id, node] : nodes) {
    const bool up = node->link != nullptr;
    changed |= std::exchange(node->up, up) != up;
    if (!up) tell_waiters(*node, why);
  }
  if (changed) tell([](PeerEvents& events) { events.reach_changed(); });
}

void PeersCore::remember() {
  if (!ended && !std::exchange(file_due, true)) run("mesh peers: write", write_later(shared_from_this()));
}

void PeersCore::write_file() {
  if (ended) return;  // whoever was known is forgotten here, and mustn't be there
  file_due = false;
  std::vector<KnownPeer> known;
  for (const auto& [id, node] : nodes) known.push_back({node->key, node->claim, node->addresses.lasting()});
  peers_file.change([text = encode(known)] { return text; },
                    [](const Result<>& written) {
                      if (written) return;
                      log::warning("mesh", "{}; after a restart peers are looked for where they were before",
                                   written.error().message);
                    });
}

}  // namespace corral::mesh
