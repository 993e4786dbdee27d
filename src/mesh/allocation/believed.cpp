#include "mesh/allocation/believed.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

#include "mesh/allocation/split_plan.h"

namespace corral::mesh {
namespace {

SplitModel shape_of(const ModelOnDisk& node_state) {
  return {.layers = node_state.layers,
          .layer_bytes = node_state.layer_bytes,
          .cache_bytes = node_state.cache_bytes,
          .ends_bytes = node_state.ends_bytes,
          .compute_bytes = node_state.compute_bytes,
          .context = node_state.split_context,
          .max_context = node_state.max_context};
}

// As doubles: the numbers come from other nodes, and their products can exceed any integer here.
double most_besides(const ModelOnDisk& node_state) {
  return static_cast<double>(kOftenFiles) * static_cast<double>(node_state.bytes) + static_cast<double>(kBesides);
}

bool has_likely_need(const ModelOnDisk& node_state) {
  return static_cast<double>(node_state.predicted) <= static_cast<double>(node_state.bytes) + most_besides(node_state);
}

bool has_likely_shape(const ModelOnDisk& node_state) {
  if (node_state.layers > kMaxSplitLayers) return false;
  const auto layers = static_cast<double>(node_state.layers);
  const double weights =
      layers * static_cast<double>(node_state.layer_bytes) + static_cast<double>(node_state.ends_bytes);
  const double besides =
      layers * static_cast<double>(node_state.cache_bytes) + static_cast<double>(node_state.compute_bytes);
  // A report has the average of the layers, rounded up.
  return weights <= static_cast<double>(node_state.bytes) + layers && besides <= most_besides(node_state);
}

// The lower of the middle ones; `all` isn't empty.
template <typename T, typename Order>
T middle_of(std::vector<T> all, Order order) {
  const auto middle = all.begin() + (static_cast<std::ptrdiff_t>(all.size()) - 1) / 2;
  std::ranges::nth_element(all, middle, {}, order);
  return *middle;
}

auto in_order(const SplitModel& one) {
  return std::tie(one.layers, one.layer_bytes, one.cache_bytes, one.ends_bytes, one.compute_bytes, one.context,
                  one.max_context);
}

}  // namespace

Believed believed(std::span<const ModelOnDisk* const> node_state) {
  Believed made;
  if (node_state.empty()) return made;
  std::vector<std::uint64_t> sizes, needs;
  for (const auto* one : node_state) sizes.push_back(one->bytes);
  made.bytes = made.need = middle_of(std::move(sizes), std::identity());
  std::vector<SplitModel> shapes;
  for (const auto* one : node_state) {
    if (one->bytes != made.bytes) continue;
    if (one->predicted > 0 && has_likely_need(*one)) needs.push_back(one->predicted);
    if (one->layers > 0 && has_likely_shape(*one)) shapes.push_back(shape_of(*one));
  }
  if (!needs.empty()) made.need = std::max(made.need, middle_of(std::move(needs), std::identity()));
  if (!shapes.empty()) made.shape = middle_of(std::move(shapes), in_order);
  return made;
}

// Without a bound: the report concerns its own memory only.
std::uint64_t own_need(const ModelOnDisk& node_state, const Believed& all) {
  const bool counts = node_state.bytes == all.bytes && node_state.predicted > 0;
  return counts ? std::max(node_state.predicted, node_state.bytes) : all.need;
}

SplitModel own_shape(const ModelOnDisk& node_state, const Believed& all) {
  auto shape = all.shape;
  const bool counts =
      node_state.bytes == all.bytes && node_state.layers == shape.layers && has_likely_shape(node_state);
  if (!counts) return shape;
  shape.cache_bytes = node_state.cache_bytes;
  shape.compute_bytes = node_state.compute_bytes;
  shape.context = node_state.split_context;
  shape.max_context = node_state.max_context;
  return shape;
}

}  // namespace corral::mesh
