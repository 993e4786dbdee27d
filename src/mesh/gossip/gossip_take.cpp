// Takes newer heads of peers, and their pages.
#include <utility>

#include "mesh/gossip/gossip.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

constexpr std::size_t kMaxHashesAsked = 256;

}  // namespace

// Skips heads of other nodes, which earlier versions send.
void Gossip::take_heads(LinkState& link, std::string_view payload) {
  ByteReader in(payload);
  while (!in.rest().empty()) {
    const auto head = decode_head(in);
    if (!head) {
      ++counters_.refused;
      return;
    }
    const auto author = node_id(head->author);
    if (author == own_ && link.checks.take(timers_.now())) {
      ++counters_.heads_in;
      take_own_head(link.peer, *head);
    } else if (author == link.peer) {
      link.late = *head;
      take_late(link);
    }
  }
}

// Waits if the peer has used up its checks for now.
void Gossip::take_late(LinkState& link) {
  if (!link.late || !link.checks.take(timers_.now())) return;
  const auto head = std::move(*link.late);
  link.late.reset();
  ++counters_.heads_in;
  if (!take_head(link, head)) ++counters_.refused;
}

// False if the peer lies.
bool Gossip::take_head(LinkState& link, const Head& head) {
  const auto stamp = head.stamp();
  if (link.worthless == stamp) return true;
  using Verdict = AnnouncementStore::Verdict;
  switch (store_.judge(head, stamp)) {
    case Verdict::forged:
      return false;
    case Verdict::unknown_author:
      return true;
    case Verdict::known:
      note_epoch(link, head.boot);
      return true;
    case Verdict::stale:
      // The peer has lost its count: send its newest head.
      note_epoch(link, head.boot);
      send_head(link.peer, link.peer);
      return true;
    case Verdict::newer:
      note_epoch(link, head.boot);
      link.next = Offer{head, stamp, AnnouncementStore::size_of(head)};
      begin_next(link);
      return true;
  }
  return true;
}

// Sets the epoch of the peer: its states of other epochs are no longer used.
void Gossip::note_epoch(LinkState& link, const Boot& boot) {
  if (link.spoken == boot) return;
  link.spoken = boot;
  changed();
}

// A head of this node: of an epoch that it forgot, or of another node with the same key (a copied disk).
void Gossip::take_own_head(const NodeId& from, const Head& head) {
  const auto* own = store_.find(own_);
  const bool ours = own && own->head.boot == head.boot;
  if (ours || head.boot.epoch < boot_.epoch || head.boot == boot_) {
    if (own && head.stamp() < own->stamp) send_head(from, own_);
    return;
  }
  ++counters_.checks;
  if (!options_.genuine(head) || head.boot.epoch + 1 >= kMaxEpoch) {
    ++counters_.refused;
    return;
  }
  boot_.epoch = head.boot.epoch + 1;
  seq_ = 0;
  announce_from_ = {};
  announcement_due_ = has_own_state_;
  if (options_.keep_epoch) options_.keep_epoch(boot_.epoch);
  announce_own();
}

void Gossip::begin_next(LinkState& link) {
  if (link.fetch || !link.next) return;
  if (!store_.has_room(link.peer, link.next->bytes)) return lay_aside(link, *std::exchange(link.next, std::nullopt));
  if (!link.fetches.take(timers_.now())) return;
  auto& fetch = link.fetch.emplace();
  fetch.offer = std::move(*link.next);
  link.next.reset();
  fetch.missing = store_.missing(fetch.offer.head);
  ask_on(link);
}

void Gossip::ask_on(LinkState& link) {
  auto& fetch = *link.fetch;
  if (!fetch.under_way.empty()) return;
  if (fetch.missing.empty()) return complete(link);
  std::string payload(as_text(fetch.offer.head.author.bytes));
  std::size_t bytes = 0;
  while (!fetch.missing.empty() && fetch.under_way.size() < kMaxHashesAsked) {
    const auto& ref = fetch.missing.back();
    bytes += ref.bytes;
    if (bytes > options_.max_requested && !fetch.under_way.empty()) break;
    ByteWriter(payload).raw(ref.hash);
    fetch.under_way.emplace(ref.hash, ref.bytes);
    fetch.missing.pop_back();
  }
  fetch.deadline = timers_.now() + options_.patience;
  peers_.send(link.peer, {FrameKind::ask_pages, std::move(payload)});
}

void Gossip::take_pages(LinkState& link, std::string_view payload) {
  ByteReader in(payload);
  PublicKey author;
  author.bytes = in.fixed<32>();
  if (!in.ok() || !link.fetch || author != link.fetch->offer.head.author) {
    ++counters_.refused;
    return;
  }
  auto& fetch = *link.fetch;
  if (in.rest().empty()) {  // the peer no longer has them
    fail_round(link);
    return begin_next(link);
  }
  while (!in.rest().empty()) {
    const auto text = in.sized<std::uint32_t>();
    const auto ref = ref_of(text);
    const auto asked = fetch.under_way.find(ref.hash);
    if (!in.ok() || asked == fetch.under_way.end() || asked->second != text.size()) {
      ++counters_.refused;  // late, or a lie
      return;
    }
    fetch.under_way.erase(asked);
    fetch.got.push_back(std::make_shared<const std::string>(text));
    fetch.deadline = timers_.now() + options_.patience;
    ++counters_.pages_in;
  }
  ask_on(link);
}

void Gossip::complete(LinkState& link) {
  auto fetch = std::move(*link.fetch);
  link.fetch.reset();
  const auto* last = store_.find(link.peer);
  auto before = last ? last->statement : nullptr;
  const auto taken = store_.take(fetch.offer.head, std::move(fetch.got));
  if (!taken && taken.error().code == errc::too_large) {
    lay_aside(link, std::move(fetch.offer));
  } else if (!taken) {
    ++counters_.refused;
    link.worthless = fetch.offer.stamp;
  } else if (*taken) {
    ++counters_.accepted;
    link.resting.reset();  // older than the taken one
    remember(link.peer, std::move(before));
    changed();
  }
  begin_next(link);
}

// Retries the offer later.
void Gossip::lay_aside(LinkState& link, Offer offer) {
  link.resting = std::move(offer);
  link.rests_until = timers_.now() + options_.rest;
}

// The peer didn't answer, or no longer has the pages. Continues with a newer head if there is one; otherwise asks again
// with the next tick.
void Gossip::fail_round(LinkState& link) {
  auto& fetch = *link.fetch;
  for (const auto& [hash, bytes] : fetch.under_way) fetch.missing.push_back({bytes, hash});
  fetch.under_way.clear();
  if (!link.next && ++fetch.rounds < options_.rounds) return;
  if (!link.next) {
    ++counters_.refused;
    lay_aside(link, std::move(fetch.offer));
  }
  link.fetch.reset();
}

// Handles time limits and waiting offers.
void Gossip::advance(LinkState& link) {
  if (!link.fetch && !link.next && link.resting && timers_.now() >= link.rests_until)
    link.next = std::exchange(link.resting, std::nullopt);
  if (link.fetch && !link.fetch->under_way.empty() && timers_.now() >= link.fetch->deadline) fail_round(link);
  if (link.fetch) return ask_on(link);
  begin_next(link);
}

}  // namespace corral::mesh
