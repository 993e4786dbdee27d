#include "mesh/catalog/announcement_store.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "mesh/identity/errors.h"

namespace corral::mesh {

AnnouncementStore::Verdict AnnouncementStore::judge(const Head& head, const HeadStamp& stamp) const {
  if (options_.standing(head.author) != MembershipStatus::member) return Verdict::unknown_author;
  const auto found = authors_.find(node_id(head.author));
  if (found != authors_.end()) {
    const auto& newest = found->second.newest.stamp;
    if (stamp == newest) return Verdict::known;
    if (stamp < newest) return Verdict::stale;
  }
  return options_.genuine(head) ? Verdict::newer : Verdict::forged;
}

std::vector<PageRef> AnnouncementStore::missing(const Head& head) const {
  const auto author = node_id(head.author);
  std::vector<PageRef> refs;
  for (const auto& ref : head.pages) {
    if (page(author, ref.hash) || std::ranges::find(refs, ref) != refs.end()) continue;
    refs.push_back(ref);
  }
  return refs;
}

std::size_t AnnouncementStore::size_of(const Head& head) {
  std::size_t sum = encoded_size(head);
  std::set<Sha256> counted;
  for (const auto& ref : head.pages) {
    if (counted.insert(ref.hash).second) sum += ref.bytes;
  }
  return sum;
}

bool AnnouncementStore::has_room(const NodeId& author, std::size_t bytes) const {
  if (options_.own == author) return true;
  const auto of = [this](const NodeId& id) {
    const auto found = authors_.find(id);
    return found == authors_.end() ? 0 : found->second.bytes;
  };
  const auto others = bytes_ - of(author) - (options_.own ? of(*options_.own) : 0);
  return others + bytes <= options_.bytes;
}

Result<bool> AnnouncementStore::take(const Head& head, std::vector<Page> fresh) {
  const auto id = node_id(head.author);
  const auto found = authors_.find(id);
  if (found != authors_.end() && head.stamp() <= found->second.newest.stamp) return false;
  std::map<Sha256, Page> by_hash;
  for (auto& one : fresh) by_hash.emplace(ref_of(*one).hash, one);
  std::vector<Page> pages;
  for (const auto& ref : head.pages) {
    const auto given = by_hash.find(ref.hash);
    auto one = given != by_hash.end() ? given->second : page(id, ref.hash);
    if (!one) return fail(errc::malformed, "an announcement lacks pages");
    pages.push_back(std::move(one));
  }
  auto made = make_announcement(head, std::move(pages));
  if (!made) return std::unexpected(made.error());

  Author next;
  if (found != authors_.end() && options_.own == id) {
    next.earlier = found->second.earlier;
    const auto& last = found->second.newest;
    auto& kept_now = *next.earlier.emplace(next.earlier.begin());
    for (std::size_t i = 0; i < last.pages.size(); ++i) kept_now.push_back({last.head.pages[i].hash, last.pages[i]});
    // Earlier pages, for peers that are behind, have a bound of their own.
    std::size_t kept = 0, room = 2 * kMaxStatementBytes;
    for (const auto& pages_before : next.earlier) {
      std::size_t size = 0;
      for (const auto& one : pages_before) size += one.page->size();
      if (kept == options_.earlier || size > room) break;
      room -= size;
      ++kept;
    }
    next.earlier.resize(kept);
  }
  next.newest = std::move(*made);
  next.bytes = bytes_of(next);
  const std::size_t before = found == authors_.end() ? 0 : found->second.bytes;
  if (!has_room(id, next.bytes)) {
    return fail(
        errc::too_large,
        fmt::format("no space for the announcement: all announcements together may have {} bytes", options_.bytes));
  }
  bytes_ += next.bytes - before;
  authors_.insert_or_assign(id, std::move(next));
  return true;
}

std::size_t AnnouncementStore::bytes_of(const Author& author) {
  std::set<const std::string*> counted;
  std::size_t sum = 0;
  const auto count = [&](const Page& page) {
    if (counted.insert(page.get()).second) sum += page->size();
  };
  for (const auto& page : author.newest.pages) count(page);
  for (const auto& pages : author.earlier) {
    for (const auto& kept : pages) count(kept.page);
  }
  return sum + encoded_size(author.newest.head);
}

const Announcement* AnnouncementStore::find(const NodeId& author) const {
  const auto found = authors_.find(author);
  return found == authors_.end() ? nullptr : &found->second.newest;
}

Page AnnouncementStore::page(const NodeId& author, const Sha256& hash) const {
  const auto found = authors_.find(author);
  if (found == authors_.end()) return nullptr;
  const auto& newest = found->second.newest;
  for (std::size_t i = 0; i < newest.pages.size(); ++i) {
    if (newest.head.pages[i].hash == hash) return newest.pages[i];
  }
  for (const auto& pages : found->second.earlier) {
    for (const auto& one : pages) {
      if (one.hash == hash) return one.page;
    }
  }
  return nullptr;
}

std::vector<PublicKey> AnnouncementStore::sweep() {
  std::vector<PublicKey> gone;
  std::erase_if(authors_, [&](const auto& entry) {
    const auto& author = entry.second.newest.head.author;
    if (options_.standing(author) == MembershipStatus::member) return false;
    gone.push_back(author);
    bytes_ -= entry.second.bytes;
    return true;
  });
  return gone;
}

}  // namespace corral::mesh
