// Records of members over the wire: in pages of 64 KiB at most. Both sides of a link exchange them first, unless their
// hellos have the same digest.
#pragma once

#include <functional>
#include <span>

#include "mesh/link/link.h"
#include "mesh/members/member_store.h"

namespace corral::mesh {

// All records of the set, each page a payload of a members frame; at least one. A page: flags (8 bits, 1: the last
// one), then records.
std::vector<std::string> member_pages(const MemberSet& set);
std::vector<std::string> member_pages(std::span<const MemberRecord> records);

// Puts pages together again. Checks no signatures.
class PageCollector {
 public:
  // True when that was the last page. Errors: malformed, unsupported_version, too_many.
  Result<bool> take(std::string_view page);
  const std::vector<MemberRecord>& records() const { return records_; }

 private:
  std::vector<MemberRecord> records_;
  std::size_t bytes_ = 0;  // of the pages
};

// The reason of closing a link after rejected records: too many, or malformed.
CloseReason reason_for(const Error& error);

using LearnMembers = std::function<Result<bool>(std::span<const MemberRecord>)>;
// `sent_digest`: the digest in our hello. True if something was learnt. Closes the link if the peer's records are
// rejected. `learn`: instead of MemberStore::learn. Errors: link_closed, and those of learning. The caller sets a
// deadline.
async::Task<Result<bool>> exchange_members(Link& link, MemberStore& store, Sha256 sent_digest, LearnMembers learn = {});

}  // namespace corral::mesh
