// Which nodes have links, and how good they are: what splitting a model over nodes has to ask. Immutable; safe on every
// thread.
#pragma once

#include <cstdint>
#include <vector>

#include "mesh/identity/keys.h"

namespace corral::mesh {

struct LinkFacts {
  NodeId a, b;                         // in either order
  std::uint64_t round_trip_us = 0;     // 0: not measured
  std::uint64_t bytes_per_second = 0;  // 0: not measured
};

class LinkTable {
 public:
  LinkTable() = default;
  // In any order. Of two reports of one link the worse numbers count.
  explicit LinkTable(std::vector<LinkFacts> links);

  // nullptr: there is no link.
  const LinkFacts* find(const NodeId& a, const NodeId& b) const;

 private:
  std::vector<LinkFacts> links_;  // a < b, sorted, each pair once
};

}  // namespace corral::mesh
