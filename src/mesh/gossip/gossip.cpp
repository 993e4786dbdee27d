#include "mesh/gossip/gossip.h"

#include <algorithm>

namespace corral::mesh {

using async::Task;

namespace {

constexpr std::size_t kMostAskedFor = 16;     // heads, of one peer at a time
constexpr std::size_t kMostPassedOver = 512;  // authors, of one peer

}  // namespace

Gossip::Gossip(Peers& peers, async::Timers& timers, async::Executor executor, SigningKey key, GossipOptions options)
    : peers_(peers),
      timers_(timers),
      key_(std::move(key)),
      own_(key_.id()),
      options_(std::move(options)),
      book_([&] {
        if (!options_.genuine) {
          options_.genuine = [mesh = options_.mesh](const Head& head) { return is_genuine(mesh, head); };
        }
        if (!options_.sign) {
          options_.sign = [mesh = options_.mesh, key = key_](Head& head) { mesh::sign(head, key, mesh); };
        }
        AnnouncementBook::Options book;
        book.own = own_;
        book.bytes = options_.book_bytes;
        book.standing = [this](const PublicKey& key) { return options_.standing(key); };
        book.genuine = [this](const Head& head) {
          ++counters_.checks;
          return options_.genuine(head);
        };
        return book;
      }()),
      stirred_(executor),
      boot_(peers.boot()),
      started_(timers.now()) {}

void Gossip::announce(Statement said) {
  said_ = rounded(std::move(said));
  has_said_ = true;
  refill_links();
}

void Gossip::refill_links() {
  if (!has_said_) return;
  std::map<NodeId, std::uint64_t> rates;  // those the announcer knows
  for (const auto& link : said_.links) rates[link.to] = link.bytes_per_second;
  said_.links.clear();
  for (const auto& view : peers_.view()) {
    if (view.state != PeerState::up || said_.links.size() == kStatementLimits.links) continue;
    const auto us =
        view.round_trip ? std::chrono::duration_cast<std::chrono::microseconds>(*view.round_trip).count() : 0;
    said_.links.push_back({view.id, static_cast<std::uint64_t>(std::max<std::int64_t>(us, 0)), rates[view.id]});
  }
  said_ = rounded(std::move(said_));
  say_due_ = true;
  say_own();
  stir();
}

void Gossip::say_own() {
  const auto now = timers_.now();
  if (!say_due_ || now < say_from_) return;
  say_due_ = false;
  if (options_.standing(key_.public_key()) != Standing::member) return;
  if (peers_.boot().epoch > boot_.epoch) {
    boot_ = peers_.boot();
    seq_ = 0;
  }
  Head head;
  head.author = key_.public_key();
  head.boot = boot_;
  std::vector<Page> pages;
  for (auto& text : options_.encode ? options_.encode(said_) : encode_pages(said_)) {
    head.pages.push_back(ref_of(text));
    pages.push_back(std::make_shared<const std::string>(std::move(text)));
  }
  const auto* last = book_.find(own_);
  if (last && last->head.boot == boot_ && last->head.pages == head.pages) return;
  head.seq = ++seq_;
  options_.sign(head);
  const auto taken = book_.take(head, std::move(pages));
  if (!taken || !*taken) return;
  ++counters_.own;
  say_from_ = now + options_.between_own;
  tell_all(own_);
  changed();
}

Reach Gossip::reach_of(const PeerView& view) const {
  return view.state == PeerState::up ? Reach::linked : Reach::away;
}

// Of a node with a link only what it said in the life in which it speaks now: a statement of an earlier one is a ghost.
std::shared_ptr<const Statement> Gossip::word_of(const NodeId& id, Reach reach) const {
  const auto* announcement = book_.find(id);
  if (!announcement) return nullptr;
  if (reach == Reach::linked) {
    const auto link = links_.find(id);
    if (link == links_.end()) return nullptr;
    if (announcement->head.boot != link->second.spoken.value_or(link->second.hello)) return nullptr;
  }
  return announcement->statement;
}

// A node that starts again says first that it is there, and then which models it has. Until then it may have those that
// it had: their names stay known for a while, or who asks for them would be told that there are none.
KnownNode Gossip::known(const PeerView& view) const {
  const auto reach = reach_of(view);
  KnownNode node{view.id, reach, view.round_trip, word_of(view.id, reach), {}, view.since, {}};
  if (node.said && !node.said->looking) return node;
  const bool linked = reach == Reach::linked;
  const auto now = timers_.now();
  if (!linked || now - view.since < options_.names_for) {
    const auto* newest = book_.find(view.id);
    const auto kept = before_.find(view.id);
    if (newest && !newest->statement->looking && newest->statement != node.said)
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

void Gossip::remember(const NodeId& author, std::shared_ptr<const Statement> before) {
  if (!book_.find(author)->statement->looking) {
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
    return !link.to_tell.empty() || !link.heads_in.empty() || !link.asked.empty() || !link.to_ask.empty();
  };
  const auto fetches = [](const auto& entry) { return entry.second.fetch || entry.second.next || entry.second.silent; };
  return say_due_ || stale_at_ || std::ranges::any_of(links_, has_work) || std::ranges::any_of(authors_, fetches);
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
  say_own();
  for (auto& [peer, link] : links_) take_heads(peer, link);
  std::vector<NodeId> authors;
  for (const auto& [author, state] : authors_) {
    if (state.fetch || state.next || state.silent) authors.push_back(author);
  }
  for (const auto& author : authors) advance(author);
  for (auto& [peer, link] : links_) {
    pump(peer, link);
    ask_for_heads(peer, link);
    give_pages(peer, link);
  }
}

void Gossip::link_up(const NodeId& peer, const Hello& hello) {
  lose_source(peer);
  drop_link(peer);
  LinkState state{.hello = hello.claim.boot,
                  .spoken = {},
                  .shown = {},
                  .to_tell = {},
                  .heads_from = {},
                  .heads_in = {},
                  .heads_in_bytes = 0,
                  .asked = {},
                  .pages_from = {},
                  .passed_over = {},
                  .to_ask = {},
                  .ask_from = {},
                  .under_way = 0,
                  .fetches = std::make_shared<std::size_t>(0),
                  .checks = TokenBucket(options_.checks),
                  .bytes = TokenBucket(options_.bytes)};
  auto& link = links_.emplace(peer, std::move(state)).first->second;
  for (const auto& author : book_.authors()) {
    if (wants_telling(peer, link, author)) link.to_tell.insert(author);
  }
  pump(peer, link);
  stir();
}

void Gossip::drop_link(const NodeId& peer) {
  const auto found = links_.find(peer);
  if (found == links_.end()) return;
  heads_waiting_ -= found->second.heads_in_bytes;
  links_.erase(found);
}

void Gossip::link_down(const NodeId& peer, const Closing&) {
  drop_link(peer);
  lose_source(peer);
  // It tells nobody any more what it said last.
  if (book_.find(peer)) tell_all(peer);
  changed();
}

void Gossip::reach_changed() {
  refill_links();
  changed();
}

void Gossip::members_changed() {
  for (const auto& key : book_.sweep()) {
    const auto gone = node_id(key);
    before_.erase(gone);
    if (const auto state = authors_.find(gone); state != authors_.end()) {
      if (state->second.fetch) give_up_asking(*state->second.fetch);
      authors_.erase(state);
    }
    for (auto& [peer, link] : links_) {
      link.to_tell.erase(gone);
      if (link.shown.erase(gone) > 0) pass_over(link, key);
    }
  }
  // Who is new here may have been announced before it was: that was passed over.
  for (auto& [peer, state] : links_) {
    std::erase_if(state.passed_over, [this, &asked = state.to_ask](const PublicKey& key) {
      if (options_.standing(key) != Standing::member) return false;
      asked.insert(key);
      return true;
    });
    ask_for_heads(peer, state);
  }
  say_due_ = say_due_ || (has_said_ && !book_.find(own_));
  say_own();
  changed();
  stir();
}

// An author that is no member. Should it become one (again), whoever told of it is asked.
void Gossip::pass_over(LinkState& link, const PublicKey& author) {
  if (link.passed_over.size() < kMostPassedOver) link.passed_over.insert(author);
}

// A few with each tick: however many members are new, what is asked for at once is no flood.
void Gossip::ask_for_heads(const NodeId& of, LinkState& link) {
  const auto now = timers_.now();
  if (link.to_ask.empty() || now < link.ask_from) return;
  link.ask_from = now + options_.tick;
  for (std::size_t i = 0; i < kMostAskedFor && !link.to_ask.empty(); ++i) {
    const auto key = link.to_ask.extract(link.to_ask.begin()).value();
    peers_.send(of, {FrameKind::ask_pages, std::string(as_text(key.bytes))});
  }
}

void Gossip::epoch_changed(const Boot& boot) {
  if (boot.epoch <= boot_.epoch) return;
  boot_ = boot;
  seq_ = 0;
  say_from_ = {};
  say_due_ = has_said_;
  say_own();
}

void Gossip::frame(const NodeId& peer, const Frame& frame) {
  const auto found = links_.find(peer);
  if (found == links_.end()) return;
  auto& link = found->second;
  constexpr std::size_t kMostWaiting = 2 * 1024 * 1024;
  switch (frame.kind) {
    case FrameKind::heads:
      if (link.heads_in_bytes + frame.payload.size() > kMostWaiting ||
          (link.heads_in_bytes > 0 && heads_waiting_ >= options_.most_heads_waiting)) {
        ++counters_.refused;
        break;
      }
      link.heads_in_bytes += frame.payload.size();
      heads_waiting_ += frame.payload.size();
      link.heads_in.push_back(frame.payload);
      take_heads(peer, link);
      break;
    case FrameKind::pages:
      take_pages(peer, frame.payload);
      break;
    case FrameKind::ask_pages:
      take_question(peer, link, frame.payload);
      break;
    default:
      return;
  }
  stir();
}

}  // namespace corral::mesh
