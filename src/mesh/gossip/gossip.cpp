#include "mesh/gossip/gossip.h"

#include <algorithm>

namespace corral::mesh {

using async::Task;

namespace {

// The most waiting page requests of one peer; it repeats dropped ones.
constexpr std::size_t kMaxQuestions = 512;
constexpr std::size_t kLook = 1024;  // cost of a lookup in the store, in bytes

}  // namespace

Gossip::Gossip(Peers& peers, async::Timers& timers, async::Executor executor, SigningKey key, GossipOptions options)
    : peers_(peers),
      timers_(timers),
      key_(std::move(key)),
      own_(key_.id()),
      options_(std::move(options)),
      store_([&] {
        if (!options_.genuine) {
          options_.genuine = [mesh = options_.mesh](const Head& head) { return is_genuine(mesh, head); };
        }
        if (!options_.sign) {
          options_.sign = [mesh = options_.mesh, key = key_](Head& head) { mesh::sign(head, key, mesh); };
        }
        AnnouncementStore::Options store;
        store.own = own_;
        store.bytes = options_.store_bytes;
        store.standing = [this](const PublicKey& key) { return options_.standing(key); };
        store.genuine = [this](const Head& head) {
          ++counters_.checks;
          return options_.genuine(head);
        };
        return store;
      }()),
      stirred_(executor),
      boot_(peers.boot()),
      started_(timers.now()) {}

void Gossip::announce(NodeState node_state) {
  own_state_ = rounded(std::move(node_state));
  has_own_state_ = true;
  refill_links();
}

void Gossip::refill_links() {
  if (!has_own_state_) return;
  std::map<NodeId, std::uint64_t> rates;  // from the caller of announce()
  for (const auto& link : own_state_.links) rates[link.to] = link.bytes_per_second;
  own_state_.links.clear();
  for (const auto& view : peers_.view()) {
    if (view.state != PeerState::up || own_state_.links.size() == kNodeStateLimits.links) continue;
    const auto us =
        view.round_trip ? std::chrono::duration_cast<std::chrono::microseconds>(*view.round_trip).count() : 0;
    own_state_.links.push_back({view.id, static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0)), rates[view.id]});
  }
  own_state_ = rounded(std::move(own_state_));
  announcement_due_ = true;
  announce_own();
  stir();
}

void Gossip::announce_own() {
  const auto now = timers_.now();
  if (!announcement_due_ || now < announce_from_) return;
  announcement_due_ = false;
  if (options_.standing(key_.public_key()) != MembershipStatus::member) return;
  if (peers_.boot().epoch > boot_.epoch) {
    boot_ = peers_.boot();
    seq_ = 0;
  }
  Head head;
  head.author = key_.public_key();
  head.boot = boot_;
  std::vector<Page> pages;
  for (auto& text : options_.encode ? options_.encode(own_state_) : encode_pages(own_state_)) {
    head.pages.push_back(ref_of(text));
    pages.push_back(std::make_shared<const std::string>(std::move(text)));
  }
  const auto* last = store_.find(own_);
  if (last && last->head.boot == boot_ && last->head.pages == head.pages) return;
  head.seq = ++seq_;
  options_.sign(head);
  const auto taken = store_.take(head, std::move(pages));
  if (!taken || !*taken) return;
  ++counters_.own;
  announce_from_ = now + options_.between_own;
  for (const auto& [peer, link] : links_) send_head(peer, own_);
  changed();
}

Reach Gossip::reach_of(const PeerView& view) const { return view.state == PeerState::up ? Reach::linked : Reach::away; }

// For a node with a link only its state of the present epoch: an earlier state is out of date.
std::shared_ptr<const NodeState> Gossip::word_of(const NodeId& id, Reach reach) const {
  const auto* announcement = store_.find(id);
  if (!announcement) return nullptr;
  if (reach == Reach::linked) {
    const auto link = links_.find(id);
    if (link == links_.end()) return nullptr;
    if (announcement->head.boot != link->second.spoken.value_or(link->second.hello)) return nullptr;
  }
  return announcement->statement;
}

// A restarted node first announces that it is there, and then its models. Until then it may still have its former ones.
// Their names stay known for a while, so that requests for them get 503 and not 404.
KnownNode Gossip::known(const PeerView& view) const {
  const auto reach = reach_of(view);
  KnownNode node{view.id, reach, view.round_trip, word_of(view.id, reach), {}, view.since, {}};
  if (node.node_state && !node.node_state->looking) return node;
  const bool linked = reach == Reach::linked;
  const auto now = timers_.now();
  if (!linked || now - view.since < options_.names_for) {
    const auto* newest = store_.find(view.id);
    const auto kept = before_.find(view.id);
    if (newest && !newest->statement->looking && newest->statement != node.node_state)
      node.before = newest->statement;
    else if (kept != before_.end())
      node.before = kept->second;
  }
  if (!node.before) node.expected_until = (linked ? std::max(started_, view.since) : started_) + options_.first_words;
  return node;
}

std::vector<KnownNode> Gossip::known() const {
  std::vector<KnownNode> nodes;
  nodes.push_back({own_, Reach::own, Millis(0), word_of(own_, Reach::own)});
  for (const auto& view : peers_.view()) nodes.push_back(known(view));
  return nodes;
}

void Gossip::remember(const NodeId& author, std::shared_ptr<const NodeState> before) {
  if (!store_.find(author)->statement->looking) {
    before_.erase(author);
  } else if (before && !before->looking) {
    before_[author] = std::move(before);
  }
}

std::shared_ptr<const Catalog> Gossip::catalog() {
  if (catalog_) return catalog_;
  catalog_ = make_catalog(known());
  for (const auto& node : catalog_->nodes()) {
    if (!node.before || node.reach != Reach::linked) continue;
    const auto end = node.since + options_.names_for;
    stale_at_ = std::min(stale_at_.value_or(end), end);
  }
  if (stale_at_) stir();
  return catalog_;
}

void Gossip::changed() {
  catalog_.reset();
  stale_at_.reset();
  if (on_change_) on_change_();
}

bool Gossip::busy() const {
  const auto has_work = [](const auto& entry) {
    const auto& link = entry.second;
    return !link.asked.empty() || link.late || link.fetch || link.next || link.resting;
  };
  return announcement_due_ || stale_at_ || std::ranges::any_of(links_, has_work);
}

Task<void> Gossip::run() {
  while (true) {
    co_await stirred_.wait();
    stirred_.reset();
    co_await timers_.sleep_for(options_.tick);
    tick();
    if (busy()) stirred_.set();
  }
}

void Gossip::tick() {
  if (stale_at_ && timers_.now() >= *stale_at_) changed();
  announce_own();
  for (auto& [peer, link] : links_) {
    take_late(link);
    advance(link);
    give_pages(link);
  }
}

void Gossip::link_up(const NodeId& peer, const Hello& hello) {
  links_.insert_or_assign(peer, LinkState{.peer = peer,
                                          .hello = hello.claim.boot,
                                          .spoken = {},
                                          .asked = {},
                                          .pages_from = {},
                                          .late = {},
                                          .fetch = {},
                                          .next = {},
                                          .resting = {},
                                          .worthless = {},
                                          .rests_until = {},
                                          .checks = TokenBucket(options_.checks),
                                          .bytes = TokenBucket(options_.bytes),
                                          .fetches = TokenBucket(options_.fetches)});
  send_head(peer, own_);
  stir();
}

void Gossip::link_down(const NodeId& peer, const Closing&) {
  links_.erase(peer);
  changed();
}

void Gossip::reach_changed() {
  refill_links();
  changed();
}

void Gossip::members_changed() {
  for (const auto& key : store_.sweep()) {
    before_.erase(node_id(key));
    links_.erase(node_id(key));
  }
  announcement_due_ = announcement_due_ || (has_own_state_ && !store_.find(own_));
  announce_own();
  changed();
  stir();
}

void Gossip::epoch_changed(const Boot& boot) {
  if (boot.epoch <= boot_.epoch) return;
  boot_ = boot;
  seq_ = 0;
  announce_from_ = {};
  announcement_due_ = has_own_state_;
  announce_own();
}

void Gossip::frame(const NodeId& peer, const Frame& frame) {
  const auto found = links_.find(peer);
  if (found == links_.end()) return;
  auto& link = found->second;
  switch (frame.kind) {
    case FrameKind::heads:
      take_heads(link, frame.payload);
      break;
    case FrameKind::pages:
      take_pages(link, frame.payload);
      break;
    case FrameKind::ask_pages:
      take_question(link, frame.payload);
      break;
    default:
      return;
  }
  stir();
}

// Sends the head of this node, or the peer's own one, which it has forgotten.
void Gossip::send_head(const NodeId& peer, const NodeId& author) {
  const auto* announcement = store_.find(author);
  if (!announcement) return;
  Frame frame{FrameKind::heads, {}};
  encode(announcement->head, frame.payload);
  ++counters_.heads_out;
  peers_.send(peer, std::move(frame));
}

// Peers request only this node's pages; earlier versions may also request pages of other nodes.
void Gossip::take_question(LinkState& link, std::string_view payload) {
  ByteReader in(payload);
  PublicKey author;
  author.bytes = in.fixed<32>();
  if (!in.ok()) {
    ++counters_.refused;
    return;
  }
  if (author != key_.public_key()) return;
  while (in.rest().size() >= sizeof(Sha256)) {
    if (link.asked.size() == kMaxQuestions) {
      ++counters_.refused;
      break;
    }
    link.asked.push_back(in.fixed<32>());
  }
  give_pages(link);
}

void Gossip::give_pages(LinkState& link) {
  const std::string author(as_text(key_.public_key().bytes));
  const auto now = timers_.now();
  // No lookups for a peer over its limit: they cost time, too.
  while (!link.asked.empty() && now >= link.pages_from) {
    std::string payload = author;
    std::size_t looked = 0, pages = 0;
    for (; looked < link.asked.size(); ++looked) {
      const auto page = store_.page(own_, link.asked[looked]);
      if (!page) continue;
      if (payload.size() + sizeof(std::uint32_t) + page->size() > kLargestPage) break;
      ByteWriter(payload).sized<std::uint32_t>(*page);
      ++pages;
    }
    const auto cost = std::max(payload.size(), kLook * looked);
    if (!link.bytes.take(now, static_cast<double>(cost))) {
      link.pages_from = now + options_.tick;
      return;
    }
    link.asked.erase(link.asked.begin(), link.asked.begin() + static_cast<std::ptrdiff_t>(looked));
    counters_.pages_out += pages;
    if (pages > 0) peers_.send(link.peer, {FrameKind::pages, std::move(payload)});
    // A frame without pages: the other requested pages aren't here.
    if (pages < looked) peers_.send(link.peer, {FrameKind::pages, author});
  }
}

}  // namespace corral::mesh
