// The newest announcement of each member, by (epoch, seq). It never proves that a node is alive: only links do (see
// KnownNode). Only announcements of members are kept. Pure; belongs to one loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "mesh/catalog/announcement.h"
#include "mesh/members/member_set.h"

namespace corral::mesh {

class AnnouncementStore {
 public:
  struct Options {
    // Limit for all pages except the own ones; an announcement that doesn't fit isn't taken.
    std::size_t bytes = 256 * 1024 * 1024;
    std::optional<NodeId> own;
    std::size_t earlier = 3;  // own heads before the newest one whose pages peers can still get
    std::function<MembershipStatus(const PublicKey&)> standing;
    std::function<bool(const Head&)> genuine;  // costs time: called last
  };
  explicit AnnouncementStore(Options options) : options_(std::move(options)) {}

  // How a head relates to the store, before its pages are there.
  enum class Verdict {
    newer,           // newer than the known one: fetch its missing pages
    known,           // the known one
    stale,           // older
    unknown_author,  // its author isn't a known member
    forged           // its signature is wrong: the sender lies
  };
  Verdict judge(const Head& head, const HeadStamp& stamp) const;
  Verdict judge(const Head& head) const { return judge(head, head.stamp()); }
  // Pages of `head` that aren't here, each once.
  std::vector<PageRef> missing(const Head& head) const;
  // Of a head and its pages, each once.
  static std::size_t size_of(const Head& head);
  // Whether an announcement of `bytes` would fit in place of the author's present one. If not, fetching it is useless.
  bool has_room(const NodeId& author, std::size_t bytes) const;
  // Takes a head with the verdict `newer`, with the pages that missing() listed. True if it is the newest now. Errors:
  // malformed (the pages are no node state: their author lies), too_large.
  Result<bool> take(const Head& head, std::vector<Page> fresh);

  const Announcement* find(const NodeId& author) const;  // nullptr: none
  // A page of the newest announcement; of the own ones also of `earlier` ones. nullptr: not here.
  Page page(const NodeId& author, const Sha256& hash) const;
  // Forgets and returns authors that are no longer members.
  std::vector<PublicKey> sweep();
  std::size_t bytes() const { return bytes_; }

 private:
  struct Kept {
    Sha256 hash;
    Page page;
  };
  struct Author {
    Announcement newest;
    std::vector<std::vector<Kept>> earlier;  // pages of the own node, the last ones first
    std::size_t bytes = 0;
  };
  static std::size_t bytes_of(const Author& author);

  Options options_;
  std::map<NodeId, Author> authors_;
  std::size_t bytes_ = 0;
};

}  // namespace corral::mesh
