#include "mesh/allocation/link_table.h"

#include <algorithm>
#include <tuple>

namespace corral::mesh {
namespace {

auto ends_of(const LinkQuality& link) { return std::tie(link.a, link.b); }

// The worse of two measured numbers; an unmeasured one is ignored.
std::uint64_t slower(std::uint64_t one, std::uint64_t other) {
  return one == 0 || other == 0 ? std::max(one, other) : std::min(one, other);
}

}  // namespace

LinkTable::LinkTable(std::vector<LinkQuality> links) {
  const auto reported = links.size();
  links.reserve(2 * reported);
  for (std::size_t i = 0; i < reported; ++i) {
    links.push_back(links[i]);
    std::swap(links.back().a, links.back().b);
  }
  std::ranges::sort(links, [](const auto& x, const auto& y) { return ends_of(x) < ends_of(y); });
  for (auto& link : links) {
    if (links_.empty() || ends_of(links_.back()) != ends_of(link)) {
      links_.push_back(link);
      continue;
    }
    auto& known = links_.back();
    known.round_trip_us = std::max(known.round_trip_us, link.round_trip_us);
    known.bytes_per_second = slower(known.bytes_per_second, link.bytes_per_second);
  }
}

const LinkQuality* LinkTable::find(const NodeId& a, const NodeId& b) const {
  const auto ends = std::tie(a, b);
  const auto found = std::ranges::lower_bound(links_, ends, {}, ends_of);
  return found == links_.end() || ends_of(*found) != ends ? nullptr : &*found;
}

std::span<const LinkQuality> LinkTable::of(const NodeId& node) const {
  const auto found = std::ranges::equal_range(links_, node, {}, &LinkQuality::a);
  return {found.begin(), found.end()};
}

}  // namespace corral::mesh
