// The newest announcement of each member, by (epoch, seq). It never proves that a node lives: only links do (see
// KnownNode). Only members' words are kept. Pure; belongs to one loop.
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
    // Of all pages together, but for the own ones; an announcement that doesn't fit isn't taken.
    std::size_t bytes = 256 * 1024 * 1024;
    std::optional<NodeId> own;
    std::size_t earlier = 3;  // own heads before the newest whose pages are still given out
    std::function<MembershipStatus(const PublicKey&)> standing;
    std::function<bool(const Head&)> genuine;  // costs time: asked last
  };
  explicit AnnouncementStore(Options options) : options_(std::move(options)) {}

  // What a head is worth, before its pages are there.
  enum class Verdict {
    news,    // newer than what is known: its pages are wanted, if any are missing
    known,   // this very one
    stale,   // older
    nobody,  // its author isn't a member, as far as is known here
    forged   // whoever sent it lies
  };
  Verdict judge(const Head& head, const HeadStamp& stamp) const;
  Verdict judge(const Head& head) const { return judge(head, head.stamp()); }
  // Pages of `head` that aren't here, each once.
  std::vector<PageRef> missing(const Head& head) const;
  // Of a head and its pages, each once.
  static std::size_t size_of(const Head& head);
  // Whether so many bytes would fit in place of what is kept of that author: else they aren't worth fetching now.
  bool has_room(const NodeId& author, std::size_t bytes) const;
  // Takes a head that was judged as news, with those of its pages that missing() named. True when it is the newest now.
  // Errors: malformed (pages that are no statement: their author lies), too_large.
  Result<bool> take(const Head& head, std::vector<Page> fresh);

  const Announcement* find(const NodeId& author) const;  // nullptr: none
  // Of the newest announcement; of the own ones also of those shortly before. nullptr: not here.
  Page page(const NodeId& author, const Sha256& hash) const;
  // Forgets those that aren't members any more; returns them.
  std::vector<PublicKey> sweep();
  std::size_t bytes() const { return bytes_; }

 private:
  struct Kept {
    Sha256 hash;
    Page page;
  };
  struct Author {
    Announcement newest;
    std::vector<std::vector<Kept>> earlier;  // of the own node, the last one first
    std::size_t bytes = 0;
  };
  static std::size_t bytes_of(const Author& author);

  Options options_;
  std::map<NodeId, Author> authors_;
  std::size_t bytes_ = 0;
};

}  // namespace corral::mesh
