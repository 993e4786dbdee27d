#include "mesh/peers/live_peers.h"

#include <algorithm>

#include "base/log.h"
#include "mesh/identity/errors.h"
#include "mesh/link/join.h"
#include "mesh/peers/core.h"
#include "mesh/peers/peer_file.h"

namespace corral::mesh {
namespace {

using async::Task;

constexpr Millis kFarewell{2000};
constexpr Millis kLeave{3000};
constexpr Millis kDisk{3000};

Task<void> serve_joiner(PeersCore::Ptr core, std::unique_ptr<Stream> stream) {
  JoinDesk desk{core->own, core->book, core->tokens, core->timers};
  desk.named = [core](const NodeId& id) { return core->is_named(id); };
  auto serving = serve_join(std::move(stream), std::move(desk));
  const auto admitted = co_await std::move(serving);
  if (admitted) log::info("mesh", "{} has joined", short_text(*admitted));
  // It may be a member all the same: the answer came too late.
  if (admitted || core->book.set().digest() != core->spread.digest()) core->members_changed();
}

Task<void> accept_all(PeersCore::Ptr core) {
  while (!core->stopping) {
    auto accepting = core->network->accept();
    auto stream = co_await std::move(accepting);
    if (!stream) co_return;
    if ((*stream)->purpose() == Purpose::join) {
      core->run("mesh peers: join", serve_joiner(core, std::move(*stream)));
    } else {
      core->take_stream(std::move(*stream));
    }
  }
}

Task<bool> finish_all(std::vector<std::shared_ptr<Link>> links) {
  for (const auto& link : links) co_await link->finished();
  co_return true;
}

}  // namespace

PeersCore::PeersCore(async::Executor on, async::Timers& time, const SigningKey& own_key, MemberBook& members,
                     TokenStore& issued, LivePeersOptions with)
    : executor(on),
      timers(time),
      own(own_key),
      own_id(own_key.id()),
      book(members),
      tokens(issued),
      options(std::move(with)),
      claim(make_claim(own_key, options.boot)),
      peers_file(options.folder / kPeersFile, Survives::crash),
      spread(members.set()),
      chance(options.seed),
      tasks(on) {
  if (options.addresses.size() > kMostAddressesOfNode) options.addresses.resize(kMostAddressesOfNode);
  if (options.disk == nullptr) return;
  book.use_disk(executor, *options.disk);
  tokens.use_disk(executor, *options.disk);
  peers_file.use_disk(executor, *options.disk);
}

void PeersCore::load() {
  sync_nodes();
  for (const auto& known : read_peers(options.folder)) {
    const auto node = find(node_id(known.key));
    if (!node) continue;
    node->addresses.said(known.addresses);
    if (known.claim && known.claim->author == node->key && is_genuine(*known.claim)) node->claim = known.claim;
  }
}

bool PeersCore::is_named(const NodeId& id) const {
  return std::ranges::any_of(options.configured, [&](const auto& peer) { return peer.id == id; });
}

void PeersCore::end() {
  if (ended) return;
  stopping = true;
  if (network && file_due) write_file();
  ended = true;
  for (const auto& [id, node] : nodes) {
    node->gone = true;
    gone_nodes.push_back(node);
    node->link.reset();
    close_streams(*node);
    node->tasks.cancel();
    tell_waiters(*node, Closing{CloseReason::stopping, false, {}});
  }
  nodes.clear();
  handlers.clear();
  listeners.clear();
  tasks.cancel();
}

Task<void> PeersCore::until_unwound(Ptr core) {
  for (const auto& weak : std::exchange(core->gone_nodes, {})) {
    const auto node = weak.lock();
    if (node) co_await node->tasks.join();
  }
  co_await core->tasks.join();
  // The last of all: what ran may have ordered it.
  const auto until = core->timers.now() + kDisk;
  const auto left = [&] { return std::chrono::duration_cast<Millis>(until - core->timers.now()); };
  bool written = co_await core->book.finish(core->timers, left());
  written = co_await core->tokens.finish(core->timers, left()) && written;
  written = co_await core->peers_file.finish(core->timers, left()) && written;
  if (!written) log::error("mesh", "the disk does not answer: the last changes of the mesh may be lost");
}

LivePeers::LivePeers(async::Executor executor, async::Timers& timers, const SigningKey& own, MemberBook& book,
                     TokenStore& tokens, LivePeersOptions options)
    : core_(std::make_shared<PeersCore>(executor, timers, own, book, tokens, std::move(options))) {
  core_->load();
}

LivePeers::~LivePeers() { core_->end(); }

Doorkeeper LivePeers::doorkeeper() const {
  return [weak = std::weak_ptr(core_)](const PublicKey& key, Purpose purpose) -> Result<> {
    const auto core = weak.lock();
    if (!core || core->stopping) return fail(errc::link_closed, "this node stops");
    if (!core->is_member()) return fail(errc::not_a_member, "this node isn't a member itself any more");
    const bool may_join = core->tokens.open_count(core->timers.wall_now()) > 0 || core->is_named(node_id(key));
    return may_enter(core->book.set(), may_join, key, purpose);
  };
}

void LivePeers::start(Network& network) {
  core_->network = &network;
  core_->write_file();  // what the configuration or a token said: a crash must not lose it
  core_->run("mesh peers: accept", accept_all(core_));
  core_->run("mesh peers: tidy", PeersCore::tidy(core_));
  for (const auto& [id, node] : core_->nodes) {
    node->run("mesh peers: dial", PeersCore::keep_linked(core_, node));
  }
  for (const auto& configured : core_->options.configured) {
    if (configured.id) continue;
    core_->run("mesh peers: dial", PeersCore::dial_unnamed(core_, configured.address));
  }
}

Task<void> LivePeers::stop() {
  const auto core = core_;
  core->stopping = true;
  std::vector<std::shared_ptr<Link>> links;
  for (const auto& [id, node] : core->nodes) {
    if (!node->link) continue;
    node->link->close(CloseReason::stopping);
    links.push_back(node->link);
  }
  auto finishing = finish_all(std::move(links));
  co_await async::with_timeout(core->timers, kFarewell, std::move(finishing));
  core->end();
  co_await PeersCore::until_unwound(core);
}

void LivePeers::members_changed() { core_->members_changed(); }

Task<Result<>> LivePeers::revoke(std::vector<NodeId> nodes) {
  const auto core = core_;
  for (const auto& id : nodes) {
    if (core->ended) co_return fail(errc::link_closed, "this node stops");
    const auto node = core->find(id);
    if (!node) co_return fail(errc::not_a_member, to_text(id) + " isn't another member of the mesh");
    const auto key = node->key;
    auto keep = core->book.set().admitted_by(key);
    auto revoking = core->book.revoke(core->own, key, std::move(keep));
    const auto revoked = co_await std::move(revoking);
    if (!revoked) co_return revoked;
    if (!core->ended) core->members_changed();
  }
  co_return Result<>();
}

Task<Result<std::size_t>> LivePeers::leave() {
  const auto core = core_;
  const auto key = core->own.public_key();
  std::vector<std::shared_ptr<Link>> links;
  for (const auto& [id, node] : core->nodes) {
    if (node->link) links.push_back(node->link);
  }
  auto keep = core->book.set().admitted_by(key);
  auto revoking = core->book.revoke(core->own, key, std::move(keep));
  const auto revoked = co_await std::move(revoking);
  if (!revoked) co_return std::unexpected(revoked.error());
  // Peers that have learnt it end the link.
  core->stopping = true;
  core->members_changed();
  auto finishing = finish_all(links);
  co_await async::with_timeout(core->timers, kLeave, std::move(finishing));
  const auto told = std::ranges::count_if(links, [](const auto& link) {
    const auto& why = link->closing();
    return why && why->by_peer && why->reason == CloseReason::revoked;
  });
  core->end();
  co_await PeersCore::until_unwound(core);
  co_return static_cast<std::size_t>(told);
}

void LivePeers::set_addresses(std::vector<Address> addresses) {
  if (addresses.size() > kMostAddressesOfNode) addresses.resize(kMostAddressesOfNode);
  core_->options.addresses = std::move(addresses);
  core_->tell_whereabouts();
}

void LivePeers::listen(PeerEvents& events) { core_->listeners.push_back(&events); }
void LivePeers::forget(PeerEvents& events) { std::erase(core_->listeners, &events); }
const NodeId& LivePeers::own() const { return core_->own_id; }
const Boot& LivePeers::boot() const { return core_->options.boot; }

std::vector<PeerView> LivePeers::view() const {
  std::vector<PeerView> views;
  const auto now = core_->timers.now();
  for (const auto& [id, node] : core_->nodes) {
    PeerView view;
    view.id = id;
    view.key = node->key;
    const auto gone = std::chrono::duration_cast<Millis>(now - node->fresh_since);
    const bool fresh = is_fresh(core_->options.dial, gone);
    view.state = node->link ? PeerState::up : fresh ? PeerState::dialling : PeerState::waiting;
    view.since = node->since;
    if (node->link) {
      view.dialled = node->link->peer().dialled;
      view.address = node->link->peer().address;
      view.round_trip = node->link->round_trip();
    }
    view.addresses = node->addresses.all();
    if (node->claim) view.boot = node->claim->boot;
    view.minor = node->minor;
    view.last_end = node->last_end;
    view.last_failure = node->last_failure;
    view.links = node->links;
    view.bytes_in = node->traffic->in;
    view.bytes_out = node->traffic->out;
    for (const auto& [purpose, slots] : node->to) view.streams_to += slots->used;
    for (const auto& [purpose, slots] : node->from) view.streams_from += slots->used;
    views.push_back(std::move(view));
  }
  return views;
}

bool LivePeers::is_up(const NodeId& peer) const {
  const auto node = core_->find(peer);
  return node && node->link;
}

void LivePeers::send(const NodeId& peer, Frame frame) {
  if (const auto node = core_->find(peer)) core_->send(*node, std::move(frame));
}

Task<Result<>> LivePeers::deliver(NodeId peer, Frame frame) {
  const auto node = core_->find(peer);
  const auto link = node ? node->link : nullptr;
  if (!link) co_return fail(errc::link_closed, "there is no link to " + short_text(peer));
  auto sending = link->send(std::move(frame));
  auto sent = co_await std::move(sending);
  co_return sent;
}

Task<Result<std::unique_ptr<Stream>>> LivePeers::open(NodeId peer, Purpose purpose) {
  return PeersCore::open(core_, peer, purpose);
}

void LivePeers::give_back(std::unique_ptr<Stream> stream) { core_->give_back(std::move(stream)); }

void LivePeers::on_stream(Purpose purpose, StreamHandler handler) { core_->handlers[purpose] = std::move(handler); }

std::vector<HeldId> LivePeers::held_by(const NodeId& peer) const {
  const auto node = core_->find(peer);
  return node && node->link ? node->link->peer_holds() : std::vector<HeldId>();
}

std::optional<MonoTime> LivePeers::last_heartbeat(const NodeId& peer) const {
  const auto node = core_->find(peer);
  return node && node->link ? std::optional(node->link->last_heartbeat()) : std::nullopt;
}

void LivePeers::hold(const NodeId& for_peer, HeldId id) {
  if (const auto node = core_->find(for_peer)) node->holding.insert(id);
}

void LivePeers::release(const NodeId& for_peer, HeldId id) {
  const auto node = core_->find(for_peer);
  if (!node) return;
  if (const auto found = node->holding.find(id); found != node->holding.end()) node->holding.erase(found);
}

Task<Closing> LivePeers::until_down(NodeId peer) {
  const auto core = core_;
  const auto node = core->find(peer);
  if (!node || !node->link) {
    co_return node && node->last_end ? *node->last_end : Closing{CloseReason::lost, false, "there is no link to it"};
  }
  const auto waiter = std::make_shared<DownWaiter>(core->executor);
  // Also when whoever waits is cancelled.
  struct Waiting {
    ~Waiting() { std::erase(node->waiters, waiter); }
    NodePtr node;
    std::shared_ptr<DownWaiter> waiter;
  };
  const Waiting waiting{node, waiter};
  node->waiters.push_back(waiter);
  while (!waiter->why) co_await waiter->down.next();
  co_return *waiter->why;
}

std::size_t LivePeers::waiting_for(const NodeId& peer) const {
  const auto node = core_->find(peer);
  return node ? node->waiters.size() : 0;
}

void LivePeers::hint(const NodeId& peer, const Address& address) {
  const auto node = core_->find(peer);
  if (!node || node->link || !node->hints.take(core_->timers.now())) return;
  node->addresses.hinted(address);
  node->stir.raise();
}

bool LivePeers::take(const NodeId& peer, Allowance what) {
  const auto node = core_->find(peer);
  return node && node->allowances[static_cast<std::size_t>(what)].take(core_->timers.now());
}

}  // namespace corral::mesh
