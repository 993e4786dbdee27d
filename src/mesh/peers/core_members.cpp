// Members: what is learnt reaches every link at once, and who was thrown out loses everything at once.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/log.h"
#include "mesh/identity/errors.h"
#include "mesh/peers/core.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kSpreadEvery{100};
constexpr Millis kRefused{60'000};  // who forged records of members

// Chance, but the same at both ends: in a mesh that isn't linked whole each pair wants its link from both sides.
Sha256 lot_of(const NodeId& a, const NodeId& b) {
  return tagged_hash("link", std::string(as_text(std::min(a, b).bytes)).append(as_text(std::max(a, b).bytes)));
}

Task<void> spread_later(PeersCore::Ptr core) {
  co_await core->timers.sleep_until(core->spread_at + kSpreadEvery);
  core->spread_due = false;
  core->spread_members();
}

}  // namespace

Node::Node(async::Executor executor, const PublicKey& of, MonoTime now)
    : key(of), id(node_id(of)), since(now), fresh_since(now), stir(executor), link_changed(executor), tasks(executor) {
  for (auto* slots : {&to, &from}) {
    (*slots)[Purpose::http] = std::make_shared<Slots>(executor, kMostHttp);
    (*slots)[Purpose::copy] = std::make_shared<Slots>(executor, kMostCopies);
    (*slots)[Purpose::rpc] = std::make_shared<Slots>(executor, kMostRpc);
  }
}

NodePtr PeersCore::find(const NodeId& id) const {
  const auto found = nodes.find(id);
  return found == nodes.end() ? nullptr : found->second;
}

void PeersCore::members_changed() {
  bool thrown_out = !is_member();
  for (const auto& [id, node] : nodes) thrown_out |= book.set().standing(id) != Standing::member;
  // Who is thrown out learns why, too: told before its link ends.
  if (thrown_out || timers.now() - spread_at >= kSpreadEvery) {
    spread_members();
  } else if (!std::exchange(spread_due, true)) {
    run("mesh peers: tell of members", spread_later(shared_from_this()));
  }
  sync_nodes();
  tell([](PeerEvents& events) { events.members_changed(); });
}

void PeersCore::spread_members() {
  const auto before = spread.records(), now = book.set().records();
  std::vector<MemberRecord> news;
  std::ranges::set_difference(now, before, std::back_inserter(news));
  spread = book.set();
  spread_at = timers.now();
  if (news.empty()) return;
  for (auto& page : member_pages(news)) {
    for (const auto& [id, node] : nodes) send(*node, {FrameKind::members, page});
  }
}

void PeersCore::sync_nodes() {
  if (stopping) return;  // one that leaves waits for its peers to end the links
  const bool inside = is_member();
  std::vector<NodePtr> leave;
  for (const auto& [id, node] : nodes) {
    if (!inside || book.set().standing(id) != Standing::member) leave.push_back(node);
  }
  for (const auto& node : leave) drop(node);
  if (!inside) return;
  std::vector<NodePtr> fresh;
  for (const auto& key : book.set().members()) {
    const auto id = node_id(key);
    if (id == own_id || nodes.contains(id)) continue;
    fresh.push_back(nodes[id] = std::make_shared<Node>(executor, key, timers.now()));
    for (const auto& configured : options.configured)
      if (configured.id == id) fresh.back()->addresses.configured(configured.address);
  }
  chosen.clear();
  if (nodes.size() >= options.most_links) {
    std::vector<std::pair<Sha256, NodeId>> lots;
    for (const auto& [id, node] : nodes) lots.emplace_back(lot_of(own_id, id), id);
    std::ranges::sort(lots);
    for (std::size_t i = 0; i + 1 < options.most_links; ++i) chosen.insert(lots[i].second);
  }
  if (!network) return;
  for (const auto& [id, node] : nodes) node->stir.raise();
  for (const auto& node : fresh) node->run("mesh peers: dial", keep_linked(shared_from_this(), node));
}

void PeersCore::drop(const NodePtr& node) {
  if (std::exchange(node->gone, true)) return;
  const bool revoked = book.set().standing(node->id) == Standing::revoked;
  const Closing why{is_member() ? CloseReason::revoked : CloseReason::stopping, false, {}};
  log::info("mesh", "{} {}", short_text(node->id), revoked ? "was thrown out" : "is no member any more");
  const auto link = std::exchange(node->link, nullptr);
  close_streams(*node);
  nodes.erase(node->id);
  node->tasks.cancel();
  std::erase_if(gone_nodes, [](const auto& weak) { return weak.expired(); });
  gone_nodes.push_back(node);
  if (link) {
    link->close(why.reason);
    bury(link);
    tell([&](PeerEvents& events) { events.link_down(node->id, why); });
  }
  tell_waiters(*node, why);
  reach_changed(why);
  if (node->up) tell([](PeerEvents& events) { events.reach_changed(); });
  remember();
}

// What a peer tells of members. It pays for what has to be verified before that happens.
Result<bool> PeersCore::learn(Node& node, std::span<const MemberRecord> records) {
  const auto now = timers.now();
  const auto news = book.set().news_in(records);
  if (!node.records.take(now, static_cast<double>(news))) {
    return fail(errc::overloaded, fmt::format("{} new records of members at once are too many from one peer", news));
  }
  auto learnt = book.learn(records);
  if (!learnt && learnt.error().code == errc::forged) {
    node.refused_until = now + kRefused;
    log::warning("mesh", "{} tells {}: there will be no link to it for {} s", short_text(node.id),
                 learnt.error().message, kRefused.count() / 1000);
    // It may have forged them while another link was made: the one that stands ends as well.
    if (node.link) node.link->close(CloseReason::malformed, learnt.error().message);
  }
  return learnt;
}

void PeersCore::learn_claim(Node& node, const EpochClaim& said) {
  if (said.author != node.key || (node.claim && node.claim->boot.epoch >= said.boot.epoch) || !is_genuine(said)) return;
  node.claim = said;
  remember();
}

// A peer holds a claim of this node's own key.
void PeersCore::learn_own(const EpochClaim& held) {
  const auto epoch = learn_epoch(own.public_key(), options.boot, {&held, 1});
  if (epoch == options.boot.epoch || epoch >= kMaxEpoch) return;
  log::info("mesh", "a peer knows of a later life of this node: this is life {}, not {}", epoch, options.boot.epoch);
  options.boot.epoch = epoch;
  if (auto kept = keep_epoch(options.folder, epoch); !kept) {
    log::error("mesh", "{}; peers will tell again after the next start", kept.error().message);
  }
  claim = make_claim(own, options.boot);
  tell_whereabouts();
  tell([this](PeerEvents& events) { events.epoch_changed(options.boot); });
}

}  // namespace corral::mesh
