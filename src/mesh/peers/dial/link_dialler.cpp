#include "mesh/peers/dial/link_dialler.h"

#include <algorithm>

#include <fmt/format.h>

#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr std::size_t kMaxDials = 8;  // of one peer at a time

class Flag {
 public:
  explicit Flag(bool& flag) : flag_(flag) { flag_ = true; }
  ~Flag() { flag_ = false; }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;

 private:
  bool& flag_;
};

// Pseudorandom, but equal at both ends: so in a mesh with too many nodes both ends of a pair choose the same links.
Sha256 rank_of(const NodeId& a, const NodeId& b) {
  return tagged_hash("link", std::string(as_text(std::min(a, b).bytes)).append(as_text(std::max(a, b).bytes)));
}

}  // namespace

LinkDialler::LinkDialler(PeerTable& peers, PeerDialler& dialler, LinkManager& links, PeerFileWriter& file,
                         const PeerManagerOptions& options)
    : peers_(peers),
      dialler_(dialler),
      links_(links),
      file_(file),
      rules_(options.dial),
      configured_(options.configured),
      max_links_(options.max_links),
      chance_(options.seed) {}

void LinkDialler::start() {
  for (const auto& [id, peer] : peers_.all()) peers_.run_for(*peer, "mesh peers: dial", keep_linked(peer));
  for (const auto& configured : configured_) {
    if (!configured.id) peers_.run("mesh peers: dial", keep_dialling(configured.address));
  }
}

void LinkDialler::peers_changed(const std::vector<PeerPtr>& added) {
  for (const auto& peer : added) {
    for (const auto& configured : configured_)
      if (configured.id == peer->id) peer->addresses.configured(configured.address);
  }
  choose();
  if (!dialler_.has_started()) return;
  for (const auto& [id, peer] : peers_.all()) peer->stir.raise();
  for (const auto& peer : added) peers_.run_for(*peer, "mesh peers: dial", keep_linked(peer));
}

void LinkDialler::choose() {
  chosen_.clear();
  if (peers_.all().size() < max_links_) return;
  std::vector<std::pair<Sha256, NodeId>> ranks;
  for (const auto& [id, peer] : peers_.all()) ranks.emplace_back(rank_of(peers_.own(), id), id);
  std::ranges::sort(ranks);
  for (std::size_t i = 0; i + 1 < max_links_; ++i) chosen_.insert(ranks[i].second);
}

bool LinkDialler::wants_link(const PeerRecord& peer) const {
  if (peers_.is_stopping() || peer.gone || peer.link.is_up() || peer.greeting) return false;
  if (peer.is_refused(peers_.now())) return false;
  return chosen_.empty() || chosen_.contains(peer.id);
}

Millis LinkDialler::gone_since(MonoTime since) const {
  return std::chrono::duration_cast<Millis>(peers_.now() - since);
}

Millis LinkDialler::next_pause(Millis gone) {
  return next_beat(rules_, gone, std::uniform_real_distribution<double>(0, 1)(chance_));
}

Task<void> LinkDialler::keep_linked(PeerPtr peer) {
  auto& timers = peers_.timers();
  std::uint64_t beat = 0;
  MonoTime last{};
  while (true) {
    const auto addresses = peer->addresses.all();
    if (addresses.empty() || !wants_link(*peer)) {
      if (peer->is_refused(timers.now())) {
        co_await timers.sleep_until(peer->refused_until);
      } else {
        co_await peer->stir.next();
      }
      continue;
    }
    // Also after stir: a peer that ends each link at once is dialled no faster than one that doesn't answer.
    if (beat > 0 && timers.now() < last + rules_.fresh_every) {
      co_await timers.sleep_until(last + rules_.fresh_every);
      continue;
    }
    last = timers.now();
    const auto gone = gone_since(peer->link.fresh_since());
    const auto limit = dial_limit(rules_, gone);
    for (const auto index : dialled_at(beat++, addresses.size())) {
      if (peer->dials >= kMaxDials || !wants_link(*peer)) break;
      peers_.run_for(*peer, "mesh peers: dial", dial(peer, addresses[index], limit));
    }
    const auto pause = next_pause(gone);
    auto stirred = peer->stir.next();
    co_await async::with_timeout(timers, pause, std::move(stirred));
  }
}

Task<void> LinkDialler::dial(PeerPtr peer, Address address, Millis limit) {
  const Counted counted(peer->dials);
  auto dialling = dialler_.dial(peer, address, Purpose::control, limit);
  auto stream = co_await std::move(dialling);
  if (!stream || !*stream) {
    peer->link.failed(stream ? stream->error().message
                             : fmt::format("{} did not respond within {} ms", to_text(address), limit.count()));
    co_return;
  }
  // Only one of overlapping dials sends a hello, so the other side never sees two.
  if (!wants_link(*peer)) co_return;
  auto greeting = greet(peer, std::move(**stream), std::move(address));
  co_await std::move(greeting);
}

// An address of the configuration without an id: accepts any member that answers there.
Task<void> LinkDialler::keep_dialling(Address unnamed) {
  const auto start = peers_.now();
  while (!peers_.is_stopping()) {
    const auto gone = gone_since(start);
    auto dialling = dial_unnamed(unnamed, dial_limit(rules_, gone));
    co_await std::move(dialling);
    const auto pause = next_pause(gone);
    co_await peers_.timers().sleep_for(pause);
  }
}

Task<void> LinkDialler::dial_unnamed(Address address, Millis limit) {
  std::vector<NodeId> pins;
  for (const auto& [id, peer] : peers_.all()) {
    const auto known = peer->addresses.all();
    if (peer->link.is_up() && std::ranges::find(known, address) != known.end()) co_return;
    if (wants_link(*peer)) pins.push_back(id);
  }
  if (pins.empty()) co_return;
  auto dialling = dialler_.dial_unnamed(address, std::move(pins), limit);
  auto stream = co_await std::move(dialling);
  const auto peer = stream && *stream ? peers_.find((**stream)->peer().id) : nullptr;
  if (!peer) co_return;
  peer->addresses.configured(address);
  // As a task of the peer, so that it is cancelled with the peer.
  if (wants_link(*peer)) peers_.run_for(*peer, "mesh peers: greet", greet(peer, std::move(**stream), address));
}

Task<void> LinkDialler::greet(PeerPtr peer, std::unique_ptr<Stream> stream, Address address) {
  {
    const Flag greeting(peer->greeting);
    auto greeted = links_.greet(peer, std::move(stream));
    const auto result = co_await std::move(greeted);
    if (result) {
      peer->addresses.proved(address);
      file_.remember();
    } else {
      peer->link.failed(result.error().message);
    }
  }
  peer->stir.raise();
}

}  // namespace corral::mesh
