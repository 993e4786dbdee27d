// What is taken of others: heads that are newer, and the pages that they name.
#include <algorithm>
#include <utility>

#include "mesh/gossip/gossip.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

constexpr std::size_t kMostHashesAsked = 256;

}  // namespace

void Gossip::take_heads(const NodeId& from, LinkState& link) {
  while (!link.heads_in.empty()) {
    const auto payload = std::move(link.heads_in.front());
    link.heads_in.pop_front();
    link.heads_in_bytes -= payload.size();
    heads_waiting_ -= payload.size();
    if (!take_frame(from, link, payload)) return;
  }
}

// False when the peer has had its share for now; what is left comes first later.
bool Gossip::take_frame(const NodeId& from, LinkState& link, const std::string& payload) {
  ByteReader in(payload);
  while (!in.rest().empty()) {
    const auto left = in.rest();
    const auto head = decode_head(in);
    if (!head) {
      ++counters_.refused;
      return true;
    }
    if (!link.checks.take(timers_.now())) {
      link.heads_in.emplace_front(left);
      link.heads_in_bytes += left.size();
      heads_waiting_ += left.size();
      return false;
    }
    ++counters_.heads_in;
    if (take_head(from, link, *head)) continue;
    ++counters_.refused;
    return true;
  }
  return true;
}

// False when the peer lies.
bool Gossip::take_head(const NodeId& from, LinkState& link, const Head& head) {
  const auto author = node_id(head.author);
  const auto stamp = head.stamp();
  if (author == own_) {
    take_own_head(from, head);
    return true;
  }
  if (const auto state = authors_.find(author); state != authors_.end()) {
    if (state->second.worthless == stamp) return true;
    // Checked before.
    const auto of = [](std::optional<Offer>& offer) { return offer ? &*offer : nullptr; };
    for (auto* known : {state->second.fetch ? &state->second.fetch->offer : nullptr, of(state->second.next),
                        of(state->second.before), of(state->second.silent)}) {
      if (!known || known->stamp != stamp || known->head != head) continue;
      known->sources.insert(from);
      auto& shown = link.shown[author];
      shown = std::max(shown, stamp);
      if (author == from) hear(link, head.boot);
      return true;
    }
  }
  const auto verdict = book_.judge(head, stamp);
  using Verdict = AnnouncementBook::Verdict;
  if (verdict == Verdict::forged) return false;
  if (verdict == Verdict::nobody) pass_over(link, head.author);
  if (verdict == Verdict::nobody || verdict == Verdict::too_many) return true;
  auto& shown = link.shown[author];
  shown = std::max(shown, stamp);
  if (verdict == Verdict::stale) {
    // It is behind, or (its own one) has lost its count; it is told.
    shown = stamp;
    if (author == from) hear(link, head.boot);
    if (wants_telling(from, link, author)) link.to_tell.insert(author);
    pump(from, link);
    return true;
  }
  if (author == from) hear(link, head.boot);
  if (verdict == Verdict::news) offer(author, from, head, stamp);
  return true;
}

// The life in which a peer speaks: what it said in others isn't its word any more.
void Gossip::hear(LinkState& link, const Boot& boot) {
  if (link.spoken == boot) return;
  link.spoken = boot;
  changed();
}

// What this node said in a life that it forgot, or another node's with the same key (a copied disk).
void Gossip::take_own_head(const NodeId& from, const Head& head) {
  const auto* own = book_.find(own_);
  const bool ours = own && own->head.boot == head.boot;
  if (ours || head.boot.epoch < boot_.epoch || head.boot == boot_) {
    if (own && links_.contains(from) && head.stamp() < own->stamp) {
      auto& link = links_.at(from);
      link.shown[own_] = head.stamp();
      link.to_tell.insert(own_);
      pump(from, link);
    }
    return;
  }
  ++counters_.checks;
  if (!options_.genuine(head) || head.boot.epoch + 1 >= kMaxEpoch) {
    ++counters_.refused;
    return;
  }
  boot_.epoch = head.boot.epoch + 1;
  seq_ = 0;
  say_from_ = {};
  say_due_ = has_said_;
  if (options_.keep_epoch) options_.keep_epoch(boot_.epoch);
  say_own();
}

void Gossip::offer(const NodeId& author, const NodeId& from, const Head& head, const HeadStamp& stamp) {
  auto& state =
      authors_.try_emplace(author, AuthorState{{}, {}, {}, {}, {}, {}, TokenBucket(options_.news)}).first->second;
  const auto bytes = AnnouncementBook::size_of(head);
  if (state.fetch && stamp < state.fetch->offer.stamp) {
    if (!state.before || state.before->stamp < stamp) state.before = Offer{head, stamp, bytes, {from}};
    return;
  }
  if (state.next && stamp < state.next->stamp) return;
  state.next = Offer{head, stamp, bytes, {from}};
  begin_next(author, state);
}

// Of those that offer it one that has a place left for it; its author always has.
std::optional<NodeId> Gossip::payer_for(const NodeId& author, const Offer& offer) const {
  if (offer.sources.contains(author) && links_.contains(author)) return author;
  if (*fetching_ >= options_.most_fetches) return std::nullopt;
  for (const auto& source : offer.sources) {
    const auto link = links_.find(source);
    if (link != links_.end() && *link->second.fetches < options_.most_fetches_of_peer) return source;
  }
  return std::nullopt;
}

void Gossip::take_place(const NodeId& author, const NodeId& payer, Fetch& fetch) {
  const auto of_payer = payer == author ? nullptr : links_.at(payer).fetches;
  ++*fetching_;
  if (of_payer) ++*of_payer;
  fetch.payer = payer;
  fetch.place = std::shared_ptr<void>(nullptr, [all = fetching_, of_payer](void*) {
    --*all;
    if (of_payer) --*of_payer;
  });
}

void Gossip::begin_next(const NodeId& author, AuthorState& state) {
  if (state.fetch || !state.next) return;
  const auto payer = payer_for(author, *state.next);
  if (!payer) return;
  // Its author is honest, as far as is known, and there may be room later.
  if (!book_.has_room(author, state.next->bytes)) return lay_aside(state, *std::exchange(state.next, std::nullopt));
  if (!state.news.take(timers_.now())) return;
  auto& fetch = state.fetch.emplace();
  take_place(author, *payer, fetch);
  fetch.deadline = timers_.now() + options_.patience;
  fetch.offer = std::move(*state.next);
  state.next.reset();
  fetch.missing = book_.missing(fetch.offer.head);
  ask_on(author, state);
}

bool Gossip::has_enough_to_do(const LinkState& link, const PageRef& next) const {
  return link.under_way > 0 && link.under_way + next.bytes > options_.most_asked;
}

// The author itself while it has room, else who is asked for least: one that is slow doesn't keep others' news away.
std::optional<NodeId> Gossip::source_for(const NodeId& author, const Fetch& fetch) const {
  std::optional<NodeId> best;
  std::size_t least = 0;
  for (const auto& source : fetch.offer.sources) {
    const auto link = links_.find(source);
    if (link == links_.end() || fetch.tried.contains(source)) continue;
    if (source == author && !has_enough_to_do(link->second, fetch.missing.back())) return source;
    if (best && link->second.under_way >= least) continue;
    best = source;
    least = link->second.under_way;
  }
  return best;
}

void Gossip::ask_on(const NodeId& author, AuthorState& state) {
  auto& fetch = *state.fetch;
  if (!fetch.under_way.empty()) return;
  if (fetch.missing.empty()) return complete(author, state);
  fetch.asked = source_for(author, fetch);
  if (!fetch.asked) {
    fetch.tried.clear();
    fetch.deadline = timers_.now() + options_.patience;
    const bool sent = std::exchange(fetch.sent, false);  // else all had enough to do
    if (state.next)
      state.fetch.reset();  // what is newer may be there
    else if (sent && ++fetch.rounds >= options_.rounds)
      give_up(state);
    return;
  }
  auto& link = links_.at(*fetch.asked);
  std::string payload(as_text(fetch.offer.head.author.bytes));
  std::size_t count = 0;
  while (!fetch.missing.empty() && count < kMostHashesAsked) {
    const auto& ref = fetch.missing.back();
    if (has_enough_to_do(link, ref)) break;
    ByteWriter(payload).raw(ref.hash);
    fetch.under_way.emplace(ref.hash, ref.bytes);
    link.under_way += ref.bytes;
    fetch.missing.pop_back();
    ++count;
  }
  if (count == 0) return;  // somebody may have room soon
  fetch.sent = true;
  fetch.deadline = timers_.now() + options_.patience;
  peers_.send(*fetch.asked, {FrameKind::ask_pages, std::move(payload)});
}

void Gossip::take_pages(const NodeId& from, std::string_view payload) {
  ByteReader in(payload);
  PublicKey key;
  key.bytes = in.fixed<32>();
  const auto author = node_id(key);
  const auto found = authors_.find(author);
  const bool wanted =
      in.ok() && found != authors_.end() && found->second.fetch && found->second.fetch->offer.sources.contains(from);
  if (!wanted) {
    ++counters_.refused;
    return;
  }
  auto& state = found->second;
  auto& fetch = *state.fetch;
  if (in.rest().empty() && fetch.asked == from) {  // it hasn't got them any more
    give_up_asking(fetch);
    return advance(author);
  }
  while (!in.rest().empty()) {
    const auto text = in.sized<std::uint32_t>();
    const auto ref = ref_of(text);
    const auto asked = fetch.under_way.find(ref.hash);
    if (!in.ok() || asked == fetch.under_way.end() || asked->second != text.size()) {
      ++counters_.refused;  // late, or a lie
      return;
    }
    if (fetch.asked) {
      if (const auto link = links_.find(*fetch.asked); link != links_.end()) link->second.under_way -= asked->second;
    }
    fetch.under_way.erase(asked);
    fetch.got.push_back(std::make_shared<const std::string>(text));
    fetch.deadline = timers_.now() + options_.patience;
    ++counters_.pages_in;
  }
  ask_on(author, state);
}

void Gossip::complete(const NodeId& author, AuthorState& state) {
  auto fetch = std::move(*state.fetch);
  state.fetch.reset();
  const auto* last = book_.find(author);
  auto before = last ? last->statement : nullptr;
  const auto taken = book_.take(fetch.offer.head, std::move(fetch.got));
  if (!taken && taken.error().code == errc::too_large) {
    lay_aside(state, fetch.offer);
  } else if (!taken) {
    // Its author signed it; whoever passed it on couldn't know.
    ++counters_.refused;
    state.worthless = fetch.offer.stamp;
  } else if (*taken) {
    ++counters_.accepted;
    remember(author, std::move(before));
    tell_all(author);
    changed();
  }
  state.before.reset();
  if (state.silent && taken && state.silent->stamp <= fetch.offer.stamp) state.silent.reset();
  begin_next(author, state);
}

// It is tried again later.
void Gossip::lay_aside(AuthorState& state, Offer offer) {
  state.silent = std::move(offer);
  state.silent_until = timers_.now() + options_.rest;
}

// Nobody gives its pages: the one before, if there is one. And later again.
void Gossip::give_up(AuthorState& state) {
  ++counters_.refused;
  lay_aside(state, std::move(state.fetch->offer));
  state.fetch.reset();
  if (!state.next) state.next = std::exchange(state.before, std::nullopt);
}

// What is under way from the peer that was asked is asked for again, of another; also when it had no room to be asked.
void Gossip::give_up_asking(Fetch& fetch) {
  if (fetch.asked) {
    const auto link = links_.find(*fetch.asked);
    for (const auto& [hash, bytes] : fetch.under_way) {
      if (link != links_.end()) link->second.under_way -= bytes;
    }
    fetch.tried.insert(*fetch.asked);
  }
  for (const auto& [hash, bytes] : fetch.under_way) fetch.missing.push_back({bytes, hash});
  fetch.under_way.clear();
  fetch.asked.reset();
}

void Gossip::lose_source(const NodeId& peer) {
  std::vector<NodeId> authors;
  for (auto& [author, state] : authors_) {
    for (auto* offer : {&state.next, &state.before, &state.silent}) {
      if (!*offer) continue;
      (*offer)->sources.erase(peer);
      if ((*offer)->sources.empty()) offer->reset();
    }
    if (!state.fetch) continue;
    if (state.fetch->asked == peer) give_up_asking(*state.fetch);
    state.fetch->offer.sources.erase(peer);
    state.fetch->tried.erase(peer);
    if (state.fetch->offer.sources.empty()) {
      state.fetch.reset();
      if (!state.next) state.next = std::exchange(state.before, std::nullopt);
    } else if (state.fetch->payer == peer) {
      find_payer(author, state);
    }
    authors.push_back(author);
  }
  for (const auto& author : authors) advance(author);
}

// The one whose place it had is gone. Without another's it begins anew when there is one.
void Gossip::find_payer(const NodeId& author, AuthorState& state) {
  auto& fetch = *state.fetch;
  fetch.place.reset();
  if (const auto payer = payer_for(author, fetch.offer)) return take_place(author, *payer, fetch);
  give_up_asking(fetch);
  if (!state.next) state.next = std::move(fetch.offer);
  state.fetch.reset();
}

// Time has passed, or a place is free.
void Gossip::advance(const NodeId& author) {
  const auto found = authors_.find(author);
  if (found == authors_.end()) return;
  auto& state = found->second;
  if (!state.fetch && !state.next && state.silent && timers_.now() >= state.silent_until)
    state.next = std::exchange(state.silent, std::nullopt);
  if (!state.fetch) return begin_next(author, state);
  if (timers_.now() >= state.fetch->deadline) {
    give_up_asking(*state.fetch);
    state.fetch->deadline = timers_.now() + options_.patience;
  }
  ask_on(author, state);
  if (!state.fetch) begin_next(author, state);
}

}  // namespace corral::mesh
