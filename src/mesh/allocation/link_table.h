// Which nodes have links, and their quality: input of split plans. Immutable; safe on every thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/identity/keys.h"

namespace corral::mesh {

// Measured values of a link.
struct LinkQuality {
  NodeId a, b;                         // in either order
  std::uint64_t round_trip_us = 0;     // 0: not measured
  std::uint64_t bytes_per_second = 0;  // 0: not measured
};

class LinkTable {
 public:
  LinkTable() = default;
  // In any order. Of two reports of one link the worse numbers are used.
  explicit LinkTable(std::vector<LinkQuality> links);

  // From `a` to `b`; nullptr: there is no link.
  const LinkQuality* find(const NodeId& a, const NodeId& b) const;
  // All links of this node: `a` is this node, `b` the other one; sorted by `b`.
  std::span<const LinkQuality> of(const NodeId& node) const;

 private:
  std::vector<LinkQuality> links_;  // sorted by both ends; each link twice, once for each direction
};

}  // namespace corral::mesh
