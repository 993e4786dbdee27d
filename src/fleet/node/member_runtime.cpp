#include "fleet/node/member_runtime.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "async/offload.h"
#include "async/run_or_leave.h"
#include "base/log.h"
#include "fleet/announce/own_addresses.h"
#include "fleet/base/errors.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {

using async::Task;

namespace {

// Another process may hold the port for a moment, such as an earlier corral that is ending.
constexpr Millis kListenAgain{2'000};
constexpr Millis kFirstWords{300};
// Time for requests to models of groups, before this node leaves the groups.
constexpr Millis kFarewell{5'000};
constexpr Millis kDiskPatience{3'000};  // for orders at the end, and for checks of the doctor

std::string in_words(const mesh::Closing& closing) {
  const auto prefix = closing.by_peer ? "reported by the peer: " : "";
  if (closing.text.empty()) return fmt::format("{}{}", prefix, mesh::name_of(closing.reason));
  return fmt::format("{}{}: {}", prefix, mesh::name_of(closing.reason), closing.text);
}

// Not on the mesh's loop, since a hanging disk may be the problem that the doctor should find.
Task<void> look_at_disk(async::ThreadPool* disk, async::Timers& timers, NodeOptions options,
                        std::shared_ptr<Examination> into) {
  using Seen = std::pair<std::string, std::uint64_t>;
  auto look = [options = std::move(options)]() -> Seen {
    std::error_code failed;
    const auto space = std::filesystem::space(options.folder, failed);
    return {identity_problem(options), failed ? 0 : space.available};
  };
  if (disk == nullptr) {
    std::tie(into->identity_problem, into->disk_free) = look();
    co_return;
  }
  auto looking = async::run_or_leave(*disk, timers, std::move(look));
  auto waiting = async::with_timeout(timers, kDiskPatience, std::move(looking));
  auto seen = co_await std::move(waiting);
  if (!seen) into->identity_problem = "the disk does not respond";
  if (seen) std::tie(into->identity_problem, into->disk_free) = std::move(*seen);
}

// The running copies to this node, for the announcement.
std::vector<mesh::CopyingModel> copies_to_announce(const std::vector<CopyView>& copies) {
  std::vector<mesh::CopyingModel> result;
  for (const auto& copy : copies) {
    if (copy.state != CopyState::copying) continue;
    result.push_back(
        {copy.content, copy.done, copy.total, static_cast<std::uint64_t>(copy.bytes_per_second), copy.by_allocation});
  }
  return result;
}

}  // namespace

mesh::PeerManagerOptions MemberRuntime::peers_options(const NodeOptions& options, const Membership& own,
                                                      const std::vector<mesh::Address>& seeds,
                                                      async::ThreadPool* disk) {
  mesh::PeerManagerOptions made;
  made.boot = own.boot;
  made.disk = disk;
  made.folder = options.folder;
  made.addresses = own_addresses(interface_addresses(), options.listen, options.advertise);
  for (const auto& peer : options.peers) made.configured.push_back({peer.node, peer.address});
  for (const auto& seed : seeds) made.configured.push_back({std::nullopt, seed});
  mesh::fill_random(reinterpret_cast<std::uint8_t*>(&made.seed), sizeof made.seed);
  return made;
}

MemberRuntime::MemberRuntime(async::Executor executor, async::Timers& timers, NodeOptions options,
                             Membership membership, const std::vector<mesh::Address>& seeds,
                             std::function<void()> on_change, const MakeHints& make_hints, CopyStorage copies,
                             AllotConfig allotment, GroupConfig groups)
    : executor_(executor),
      timers_(timers),
      options_(std::move(options)),
      own_(std::move(membership)),
      on_change_(std::move(on_change)),
      network_(executor, own_.key, timers),
      peers_(executor, timers, own_.key, own_.store, own_.tokens,
             peers_options(options_, own_, seeds, groups.disk != nullptr ? groups.disk : allotment.disk)),
      gossip_(peers_, timers, executor, own_.key, gossip_options()),
      probe_(executor, timers, peers_, network_),
      orders_(executor, timers, peers_,
              [this](const mesh::NodeId& from, const AllotAsk& ask) { return obey_order(from, ask); }),
      tasks_(executor) {
  peers_.listen(gossip_);
  peers_.listen(probe_);
  peers_.listen(orders_);
  peers_.listen(*this);
  gossip_.on_change([this] {
    if (copies_) copies_->look();
    look_at_allocation();
    on_change_();
  });
  if (copies.writes != nullptr) {
    inspector_ = copies.inspector;
    hashes_of_ = copies.hashes;
    copies_ = std::make_unique<CopyManager>(
        executor, CopyManagerParts{.peers = peers_,
                                   .own = own_.key,
                                   .timers = timers,
                                   .storage = std::move(copies),
                                   .on_disk = [this](const Sha256& content) { return on_disk(content); },
                                   .catalog = [this] { return gossip_.catalog(); },
                                   .on_change =
                                       [this] {
                                         if (copies_->can_take() == announced_takes_) return on_change_();
                                         announced_takes_ = copies_->can_take();
                                         announce();
                                         on_change_();
                                       }});
    copies_->give(options_.copies);
    copies_->allow_allocation(options_.takes_copies());
  }
  if (groups.processes != nullptr) make_groups(std::move(groups));
  if (allotment.actions != nullptr) allotter_ = make_allotter(allotment);
  if (!make_hints || options_.gossip_port == 0) return;
  const DiscoveryConfig config{
      own_.id(), own_.store.set().mesh(), {options_.listen.host, options_.gossip_port}, options_.folder};
  hints_ =
      std::make_unique<DiscoveryLoop>(executor, timers, peers_, make_hints(executor, config), options_.gossip_port);
}

MemberRuntime::~MemberRuntime() {
  peers_.forget(*this);
  peers_.forget(orders_);
  peers_.forget(probe_);
  peers_.forget(gossip_);
}

mesh::GossipOptions MemberRuntime::gossip_options() {
  mesh::GossipOptions made;
  made.mesh = own_.store.set().mesh();
  made.standing = [this](const mesh::PublicKey& key) { return own_.store.set().standing(key); };
  made.keep_epoch = [this](std::uint64_t epoch) {
    if (auto kept = mesh::keep_epoch(options_.folder, epoch); !kept) log::error("mesh", "{}", kept.error().message);
  };
  return made;
}

void MemberRuntime::start() {
  tasks_.spawn("mesh: listen", listen());
  tasks_.spawn("mesh: gossip", gossip_.run());
  if (copies_) copies_->start();
  if (groups_) groups_->start();
  if (allotter_) allotter_->start();
  if (inspector_ != nullptr) tasks_.spawn("mesh: sandbox", look_for_fences());
  if (hints_) hints_->start();
  tasks_.spawn("mesh: first announcement", announce_name());
}

// Announces only a name and a role if the machine's state isn't known in time: a first announcement delays the next
// one.
Task<void> MemberRuntime::announce_name() {
  co_await timers_.sleep_for(kFirstWords);
  speaks_ = true;
  if (!facts_) announce();
}

void MemberRuntime::set_facts(MachineFacts facts) {
  facts_ = std::move(facts);
  announce();
  lend();
  publish_splits();  // also for allocation results that are the same as before
}

// At once, so that no other node orders the same copy; and only after a change.
void MemberRuntime::announce_copies() {
  if (!facts_) return;
  const auto now = copies_to_announce(copies_->list());
  const auto same = [](const mesh::CopyingModel& a, const mesh::CopyingModel& b) {
    return a.content == b.content && a.by_allocation == b.by_allocation;
  };
  if (!std::ranges::equal(now, announced_.copying, same)) announce();
}

void MemberRuntime::announce() {
  if (!facts_ && !speaks_) return;  // see announce_name()
  auto node_state = make_node_state(options_, facts_.value_or(MachineFacts()), addresses());
  node_state.works = works_ && group_control_ && options_.role != mesh::Role::client;
  if (copies_) node_state.copying = copies_to_announce(copies_->list());
  // Without inspection the allocation must not order copies here.
  if (copies_ && !copies_->can_take()) node_state.takes_copies = false;
  add_groups(node_state);
  if (allotter_) allotter_->add_to(node_state);
  if (node_state == announced_) return;
  // Interfaces may change while the server runs.
  if (node_state.addresses != announced_.addresses) peers_.set_addresses(node_state.addresses);
  announced_ = node_state;
  gossip_.announce(std::move(node_state));
  if (hints_) hints_->publish(announced_.addresses, peers_.boot().epoch);
}

Task<void> MemberRuntime::stop() {
  if (allotter_) allotter_->rest();
  // While links are still up.
  co_await end_groups();
  *ends_ = true;
  tasks_.cancel();
  co_await tasks_.join();
  async::TaskGroup leaving(co_await async::asio::this_coro::executor);
  if (hints_) leaving.spawn("mesh: leave discovery", hints_->stop());
  if (const auto asking = examination_.lock()) {
    asking->cancel();
    co_await asking->join();
  }
  peers_.forget(orders_);
  if (allotter_) {
    co_await allotter_->stop();
    const bool kept = co_await orders_file_->finish(kDiskPatience);
    if (!kept) log::error("mesh", "the disk does not respond: orders of this node may be lost at a restart");
  }
  if (copies_) co_await copies_->stop();
  // Peers may send requests until their links have ended.
  peers_.forget(probe_);
  co_await probe_.stop();
  co_await peers_.stop();
  co_await leaving.join();
}

void MemberRuntime::change(NodeOptions options) {
  options_ = std::move(options);
  if (copies_) {
    copies_->give(options_.copies);
    copies_->allow_allocation(options_.takes_copies());
  }
  if (allotter_) allotter_->change(allotter_options());
  peers_.set_addresses(addresses());
  announce();
  lend();
}

// This node also dials out while its port is taken.
Task<void> MemberRuntime::listen() {
  bool started = false;
  while (true) {
    const auto at = network_.listen(options_.listen, peers_.authorizer());
    if (at) {
      listening_ = *at;
      problem_.clear();
      peers_.set_addresses(addresses());
      log::info("mesh", "listening for other nodes on {}", mesh::to_text(*at));
    } else {
      const auto problem = fmt::format("{}: other nodes can't dial this node", at.error().message);
      if (problem != problem_) log::error("mesh", "{}", problem);
      problem_ = problem;
    }
    if (!started) peers_.start(network_);
    started = true;
    on_change_();
    if (listening_) co_return;
    co_await timers_.sleep_for(kListenAgain);
  }
}

void MemberRuntime::link_up(const mesh::NodeId& peer, const mesh::Hello&) {
  log::info("mesh", "link to {} is up", name_of(peer));
  reach_changed();
}

void MemberRuntime::link_down(const mesh::NodeId& peer, const mesh::Closing& closing) {
  log::info("mesh", "link to {} has ended: {}", name_of(peer), in_words(closing));
  reach_changed();
}

void MemberRuntime::reach_changed() {
  look_at_allocation();
  on_change_();
}

void MemberRuntime::epoch_changed(const mesh::Boot& boot) {
  own_.boot = boot;
  on_change_();
}

std::vector<mesh::Address> MemberRuntime::addresses() const {
  return own_addresses(interface_addresses(), listening_.value_or(options_.listen), options_.advertise);
}

bool MemberRuntime::is_revoked() const {
  return own_.store.set().standing(own_.key.public_key()) == mesh::MembershipStatus::revoked;
}

std::string MemberRuntime::name_of(const mesh::NodeId& node) {
  const auto catalog = gossip_.catalog();
  // Until its first announcement.
  const bool unannounced = node == own_.id() && catalog->names().own(node).empty();
  return unannounced ? options_.name : catalog->names().shown(node);
}

NodeView MemberRuntime::describe_self() {
  return {.id = own_.id(),
          .name = name_of(own_.id()),
          .own_name = options_.name,
          .reach = mesh::Reach::own,
          .link = "self",
          .addresses = addresses()};
}

NodeView MemberRuntime::describe(const mesh::PeerView& peer) {
  NodeView view{.id = peer.id, .name = name_of(peer.id), .own_name = gossip_.catalog()->names().own(peer.id)};
  view.reach = peer.state == mesh::PeerState::up ? mesh::Reach::linked : mesh::Reach::away;
  view.link = mesh::name_of(peer.state);
  view.addresses = peer.addresses;
  view.round_trip = peer.round_trip;
  view.since = timers_.wall_now() - std::chrono::duration_cast<WallTime::duration>(timers_.now() - peer.since);
  if (peer.last_end) view.last_end = in_words(*peer.last_end);
  view.last_failure = peer.last_failure;
  view.bytes_in = peer.bytes_in;
  view.bytes_out = peer.bytes_out;
  view.held = peer.streams_from;
  return view;
}

void MemberRuntime::describe(MeshView& view) {
  view.mesh = own_.store.set().mesh();
  view.self = own_.id();
  view.name = name_of(own_.id());
  view.epoch = peers_.boot().epoch;
  view.listening = listening_;
  view.advertised = addresses();
  view.open_tokens = own_.tokens.open_count(timers_.wall_now());
  if (!problem_.empty()) view.problem = problem_;
  view.catalog = gossip_.catalog();
  if (copies_) view.copies = copies_->list();
  if (allotter_) view.allotment = allotter_->view();
  describe_groups(view);
  for (const auto& peer : peers_.view()) view.nodes.push_back(describe(peer));
  std::ranges::sort(view.nodes, {}, &NodeView::name);
  view.nodes.insert(view.nodes.begin(), describe_self());
  for (auto& node : view.nodes)
    if (const auto* known = view.catalog->node(node.id)) node.node_state = known->node_state;
}

Task<Result<Invitation>> MemberRuntime::invite(std::chrono::seconds lifetime) {
  const mesh::JoinTokenOptions options{lifetime, addresses()};
  if (options.seeds.empty()) {
    co_return fail(mesh::errc::bad_address,
                   "this machine has no address that other nodes can reach: set mesh_advertise");
  }
  const auto now = timers_.wall_now();
  auto issuing = own_.tokens.issue(own_.store.set().mesh(), own_.id(), options, now);
  // This object may be destroyed afterwards.
  const auto token = co_await std::move(issuing);
  if (!token) co_return std::unexpected(token.error());
  co_return Invitation{mesh::to_text(*token), mesh::issued_token(*token, now), options.seeds};
}

Result<mesh::NodeId> MemberRuntime::find(std::string_view node) {
  MeshView now;
  describe(now);
  const auto found = find_node(now, node);
  if (!found) return std::unexpected(found.error());
  return (*found)->id;
}

Task<Result<mesh::NodeId>> MemberRuntime::revoke(std::string name, bool all) {
  const auto node = find(name);
  if (!node) co_return std::unexpected(node.error());
  if (*node == own_.id()) {
    co_return fail(errc::own_node, "a node can't revoke itself: use `corral mesh leave`", "node");
  }
  std::vector<mesh::NodeId> gone = {*node};
  for (std::size_t i = 0; all && i < gone.size(); ++i) {
    for (const auto& key : own_.store.set().members()) {
      if (mesh::node_id(key) != gone[i]) continue;
      for (const auto& admitted : own_.store.set().admitted_by(key)) {
        const auto id = mesh::node_id(admitted);
        if (id != own_.id() && std::ranges::find(gone, id) == gone.end()) gone.push_back(id);
      }
    }
  }
  auto revoking = peers_.revoke(std::move(gone));
  // This object may be destroyed afterwards.
  const auto revoked = co_await std::move(revoking);
  if (!revoked) co_return std::unexpected(revoked.error());
  co_return *node;
}

Task<void> MemberRuntime::probe(mesh::NodeId peer, std::shared_ptr<Examination> into) {
  // The most likely addresses, one after the other, as peers dial one at a time.
  constexpr std::size_t kMax = 2;
  const auto own = addresses();
  for (std::size_t i = 0; i < std::min(own.size(), kMax); ++i) {
    auto asking = probe_.ask(peer, own[i]);
    auto result = co_await std::move(asking);
    into->probes[peer].emplace(mesh::to_text(own[i]), std::move(result));
  }
}

Task<void> MemberRuntime::look_at_sandbox(std::shared_ptr<Examination> into) {
  auto looking = inspector_->examine();
  into->sandbox = co_await std::move(looking);
}

// Dials a node that the settings name and that is no member, and records the result.
Task<void> MemberRuntime::dial_configured(StaticPeer peer, std::shared_ptr<Examination> into) {
  const std::vector<mesh::NodeId> pins{peer.node};
  auto dialling = network_.dial({peer.address, mesh::Origin::settings}, pins, mesh::Purpose::control);
  const auto stream = co_await std::move(dialling);
  auto& result = into->named[peer.node];
  if (stream) {
    result.clear();
  } else if (stream.error().code == mesh::errc::not_a_member) {
    result = fmt::format("the node at {} is in another mesh, or its settings don't name this node",
                         mesh::to_text(peer.address));
  } else {
    result = stream.error().message;
  }
}

Task<Examination> MemberRuntime::examine() {
  const auto found = std::make_shared<Examination>();
  if (hints_) found->hints = hints_->state();
  const auto executor = co_await async::asio::this_coro::executor;
  const auto asking = std::make_shared<async::TaskGroup>(executor);
  examination_ = asking;
  asking->spawn("mesh: doctor", look_at_disk(group_config_.disk, timers_, options_, found));
  if (copies_) asking->spawn("mesh: doctor", look_at_sandbox(found));
  for (const auto& peer : peers_.view())
    if (peer.state == mesh::PeerState::up) asking->spawn("mesh: doctor", probe(peer.id, found));
  for (const auto& peer : options_.peers) {
    const bool known = peer.node == own_.id() || own_.store.set().standing(peer.node) == mesh::MembershipStatus::member;
    if (!known) asking->spawn("mesh: doctor", dial_configured(peer, found));
  }
  co_await asking->join();
  co_return *found;
}

Task<void> MemberRuntime::leave() {
  *ends_ = true;
  wind_down(kFarewell);
  co_await end_groups();
  const auto result = co_await peers_.leave();
  if (!result) {
    log::warning("mesh", "can't notify other nodes that this node leaves: {}", result.error().message);
  } else {
    log::info("mesh", "notified {} nodes that this node leaves", *result);
  }
}

}  // namespace corral::fleet
