#include "mesh/allocation/believed.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

namespace corral::mesh {
namespace {

constexpr std::uint32_t kMaxLayers = 4096;

SplitModel shape_of(const ModelOnDisk& said) {
  return {.layers = said.layers,
          .layer_bytes = said.layer_bytes,
          .cache_bytes = said.cache_bytes,
          .ends_bytes = said.ends_bytes,
          .compute_bytes = said.compute_bytes,
          .context = said.split_context,
          .max_context = said.max_context};
}

// As doubles: the numbers come from other nodes, and their products can exceed any integer here.
double most_besides(const ModelOnDisk& said) {
  return static_cast<double>(kOftenFiles) * static_cast<double>(said.bytes) + static_cast<double>(kBesides);
}

bool has_likely_need(const ModelOnDisk& said) {
  return static_cast<double>(said.predicted) <= static_cast<double>(said.bytes) + most_besides(said);
}

bool has_likely_shape(const ModelOnDisk& said) {
  if (said.layers > kMaxLayers) return false;
  const auto layers = static_cast<double>(said.layers);
  const double weights = layers * static_cast<double>(said.layer_bytes) + static_cast<double>(said.ends_bytes);
  const double besides = layers * static_cast<double>(said.cache_bytes) + static_cast<double>(said.compute_bytes);
  // A report has the average of the layers, rounded up.
  return weights <= static_cast<double>(said.bytes) + layers && besides <= most_besides(said);
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

Believed believed(std::span<const ModelOnDisk* const> said) {
  Believed made;
  if (said.empty()) return made;
  std::vector<std::uint64_t> sizes, needs;
  for (const auto* one : said) sizes.push_back(one->bytes);
  made.bytes = made.need = middle_of(std::move(sizes), std::identity());
  std::vector<SplitModel> shapes;
  for (const auto* one : said) {
    if (one->bytes != made.bytes) continue;
    if (one->predicted > 0 && has_likely_need(*one)) needs.push_back(one->predicted);
    if (one->layers > 0 && has_likely_shape(*one)) shapes.push_back(shape_of(*one));
  }
  if (!needs.empty()) made.need = std::max(made.need, middle_of(std::move(needs), std::identity()));
  if (!shapes.empty()) made.shape = middle_of(std::move(shapes), in_order);
  return made;
}

// Without a bound: the report concerns its own memory only.
std::uint64_t own_need(const ModelOnDisk& said, const Believed& all) {
  const bool counts = said.bytes == all.bytes && said.predicted > 0;
  return counts ? std::max(said.predicted, said.bytes) : all.need;
}

SplitModel own_shape(const ModelOnDisk& said, const Believed& all) {
  auto shape = all.shape;
  const bool counts = said.bytes == all.bytes && said.layers == shape.layers && has_likely_shape(said);
  if (!counts) return shape;
  shape.cache_bytes = said.cache_bytes;
  shape.compute_bytes = said.compute_bytes;
  shape.context = said.split_context;
  shape.max_context = said.max_context;
  return shape;
}

}  // namespace corral::mesh
