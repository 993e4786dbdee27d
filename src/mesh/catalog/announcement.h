// An announcement, the wire form of a node state: a head, signed by its author, that lists the hashes of pages; and the
// pages. A change is a new head and the changed pages. Plain values; safe on every thread.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/catalog/node_state.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/epoch.h"
#include "mesh/members/member_records.h"

namespace corral::mesh {

struct PageRef {
  std::uint32_t bytes = 0;
  Sha256 hash{};
  friend auto operator<=>(const PageRef&, const PageRef&) = default;
};

// Orders the heads of one author: epoch, then seq, then the hash. The hash orders two heads of a lying author with the
// same numbers, so that all nodes keep the same one.
struct HeadStamp {
  std::uint64_t epoch = 0;
  std::uint64_t seq = 0;
  Sha256 hash{};
  friend auto operator<=>(const HeadStamp&, const HeadStamp&) = default;
};

struct Head {
  PublicKey author;
  Boot boot;
  std::uint64_t seq = 0;
  std::vector<PageRef> pages;
  std::string more;  // of later versions; signed and kept
  Signature signature;

  HeadStamp stamp() const;
  std::uint64_t page_bytes() const;
  friend bool operator==(const Head&, const Head&) = default;
};

inline constexpr std::size_t kMaxHeadMore = 256;

PageRef ref_of(std::string_view page);
void encode(const Head& head, std::string& out);
std::size_t encoded_size(const Head& head);
// The next head of `in`; checks its form and bounds, not its signature. Errors: malformed.
Result<Head> decode_head(ByteReader& in);
void sign(Head& head, const SigningKey& key, const MeshId& mesh);
// Costs 0.1 ms.
bool is_genuine(const MeshId& mesh, const Head& head);

using Page = std::shared_ptr<const std::string>;

// A head and all of its pages.
struct Announcement {
  Head head;
  HeadStamp stamp;          // of the head
  std::vector<Page> pages;  // in the order of the head
  std::shared_ptr<const NodeState> statement;
};

// Errors: malformed, if the pages are no node state.
Result<Announcement> make_announcement(Head head, std::vector<Page> pages);

}  // namespace corral::mesh
