// What is told to others: heads to whoever may lack them, pages to whoever asks.
#include <algorithm>

#include "mesh/gossip/gossip.h"

namespace corral::mesh {
namespace {

// Of pages that one peer may have asked for and not got yet; it asks again.
constexpr std::size_t kMostQuestions = 512;
constexpr std::size_t kLook = 1024;  // bytes that a look into the book counts as

}  // namespace

void Gossip::tell_all(const NodeId& author) {
  for (auto& [peer, link] : links_) {
    if (!wants_telling(peer, link, author)) continue;
    link.to_tell.insert(author);
    pump(peer, link);
  }
  stir();
}

bool Gossip::wants_telling(const NodeId& to, const LinkState& link, const NodeId& author) const {
  const auto* announcement = book_.find(author);
  if (!announcement) return false;
  const auto shown = link.shown.find(author);
  const bool known_there = shown != link.shown.end();
  if (known_there && shown->second >= announcement->stamp) return false;
  if (author == own_) return true;
  // A node hears of itself only when it has forgotten what it said.
  if (author == to) return known_there;
  // The author tells it itself.
  const bool tells_itself =
      std::ranges::any_of(announcement->statement->links, [&](const LinkReport& report) { return report.to == to; });
  return !tells_itself || !links_.contains(author);
}

void Gossip::pump(const NodeId& to, LinkState& link) {
  const auto now = timers_.now();
  if (link.to_tell.empty() || now < link.heads_from) return;
  std::string payload;
  // The own one first: it is what shows that this node speaks.
  std::vector<NodeId> authors;
  if (link.to_tell.contains(own_)) authors.push_back(own_);
  for (const auto& author : link.to_tell) {
    if (author != own_) authors.push_back(author);
  }
  for (const auto& author : authors) {
    if (wants_telling(to, link, author)) {
      const auto* announcement = book_.find(author);
      const auto& head = announcement->head;
      if (payload.size() + encoded_size(head) > kLargestPage) break;
      encode(head, payload);
      link.shown[author] = announcement->stamp;
      ++counters_.heads_out;
    }
    link.to_tell.erase(author);
  }
  if (payload.empty()) return;
  // A whole frame at once, the next one later: what comes fast is put together.
  if (payload.size() > kLargestPage / 2) link.heads_from = now + options_.tick;
  peers_.send(to, {FrameKind::heads, std::move(payload)});
}

void Gossip::take_question(const NodeId& from, LinkState& link, std::string_view payload) {
  ByteReader in(payload);
  PublicKey key;
  key.bytes = in.fixed<32>();
  if (!in.ok()) {
    ++counters_.refused;
    return;
  }
  const auto author = node_id(key);
  const bool for_head = in.rest().empty();
  while (for_head || in.rest().size() >= sizeof(Sha256)) {
    if (link.asked.size() == kMostQuestions) {
      ++counters_.refused;
      break;
    }
    if (for_head) {
      link.asked.emplace_back(author, std::nullopt);
      break;
    }
    link.asked.emplace_back(author, in.fixed<32>());
  }
  give_pages(from, link);
}

bool Gossip::takes_share(LinkState& link, std::size_t bytes) {
  const auto now = timers_.now();
  if (link.bytes.take(now, static_cast<double>(bytes))) return true;
  link.pages_from = now + options_.tick;
  return false;
}

// The one that is asked for first. False when it has to wait.
bool Gossip::give_head(const NodeId& to, LinkState& link) {
  const auto author = link.asked.front().first;
  const auto* announcement = book_.find(author);
  if (!takes_share(link, kLook + (announcement ? encoded_size(announcement->head) : 0))) return false;
  link.asked.pop_front();
  if (!announcement) return true;
  link.shown.erase(author);
  link.to_tell.insert(author);
  pump(to, link);
  return true;
}

void Gossip::give_pages(const NodeId& to, LinkState& link) {
  // Nothing is looked up for who has had its share: that would cost, too.
  while (!link.asked.empty() && timers_.now() >= link.pages_from) {
    if (!link.asked.front().second) {
      if (!give_head(to, link)) return;
      continue;
    }
    const auto author = link.asked.front().first;
    const auto* announcement = book_.find(author);
    std::string payload;
    if (announcement) payload = std::string(as_text(announcement->head.author.bytes));
    std::size_t looked = 0, pages = 0;
    for (; looked < link.asked.size() && link.asked[looked].first == author; ++looked) {
      const auto& hash = link.asked[looked].second;
      if (!hash) break;
      const auto page = book_.page(author, *hash);
      if (!page) continue;
      if (payload.size() + sizeof(std::uint32_t) + page->size() > kLargestPage) break;
      ByteWriter(payload).sized<std::uint32_t>(*page);
      ++pages;
    }
    // What isn't there costs a look into the book.
    const auto cost = std::max(payload.size(), kLook * looked);
    if (!takes_share(link, cost)) return;
    link.asked.erase(link.asked.begin(), link.asked.begin() + static_cast<std::ptrdiff_t>(looked));
    counters_.pages_out += pages;
    // Without any page: what else was asked for isn't here (any more).
    const bool incomplete = announcement && pages < looked;
    Frame rest{FrameKind::pages, incomplete ? std::string(as_text(announcement->head.author.bytes)) : std::string()};
    if (pages > 0) peers_.send(to, {FrameKind::pages, std::move(payload)});
    if (incomplete) peers_.send(to, std::move(rest));
  }
}

}  // namespace corral::mesh
