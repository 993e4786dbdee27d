#include "mesh/catalog/split_orders.h"

#include <algorithm>
#include <tuple>

namespace corral::mesh {
namespace {

// Newest first. Impossible numbers count as 0.
void sort_by_age(std::vector<GivenSplit>& given) {
  const auto age = [](const GivenSplit& one) { return std::tuple(~one.order.stamp, one.host); };
  std::ranges::sort(given, {}, [](const GivenSplit& one) { return one.order.stamp; });
  std::uint64_t last = 0;
  for (auto& one : given) {
    if (one.order.stamp - last > kMaxAhead) {
      one.order.stamp = 0;
    } else {
      last = one.order.stamp;
    }
  }
  std::ranges::sort(given, {}, age);
}

}  // namespace

const GivenSplit* newest_of(std::vector<GivenSplit>& given) {
  sort_by_age(given);
  return given.empty() ? nullptr : &given.front();
}

std::uint64_t next_stamp(const Catalog& catalog, const ContentKey& model, std::uint64_t asked) {
  HashedSince hashed(catalog);
  const auto key = hashed(model);
  std::vector<GivenSplit> given;
  for (const auto& node : catalog.nodes()) {
    if (!node.node_state) continue;
    for (const auto& order : node.node_state->split_orders)
      if (hashed(order.model) == key) given.push_back({node.id, order});
  }
  const auto* newest = newest_of(given);
  const auto last = newest == nullptr ? 0 : newest->order.stamp;
  return std::clamp(asked, last + 1, last + kMaxAhead);
}

}  // namespace corral::mesh
