#include "mesh/allocation/believed.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

#include "mesh/allocation/split_plan.h"

namespace corral::mesh {
namespace {

SplitModel shape_of(const ModelOnDisk& report) {
  return {.layers = report.layers,
          .layer_bytes = report.layer_bytes,
          .cache_bytes = report.cache_bytes,
          .ends_bytes = report.ends_bytes,
          .compute_bytes = report.compute_bytes,
          .context = report.split_context,
          .max_context = report.max_context};
}

// As doubles: the numbers come from other nodes, and their products can exceed any integer here.
double max_besides(const ModelOnDisk& report) {
  return static_cast<double>(kOftenFiles) * static_cast<double>(report.bytes) + static_cast<double>(kBesides);
}

bool has_likely_need(const ModelOnDisk& report) {
  return static_cast<double>(report.predicted) <= static_cast<double>(report.bytes) + max_besides(report);
}

bool has_likely_shape(const ModelOnDisk& report) {
  if (report.layers > kMaxSplitLayers) return false;
  const auto layers = static_cast<double>(report.layers);
  const double weights = layers * static_cast<double>(report.layer_bytes) + static_cast<double>(report.ends_bytes);
  const double besides = layers * static_cast<double>(report.cache_bytes) + static_cast<double>(report.compute_bytes);
  // A report has the average of the layers, rounded up.
  return weights <= static_cast<double>(report.bytes) + layers && besides <= max_besides(report);
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

Believed believed(std::span<const ModelOnDisk* const> reports) {
  Believed made;
  if (reports.empty()) return made;
  std::vector<std::uint64_t> sizes, needs;
  for (const auto* one : reports) sizes.push_back(one->bytes);
  made.bytes = made.need = middle_of(std::move(sizes), std::identity());
  std::vector<SplitModel> shapes;
  for (const auto* one : reports) {
    if (one->bytes != made.bytes) continue;
    if (one->predicted > 0 && has_likely_need(*one)) needs.push_back(one->predicted);
    if (one->layers > 0 && has_likely_shape(*one)) shapes.push_back(shape_of(*one));
  }
  if (!needs.empty()) made.need = std::max(made.need, middle_of(std::move(needs), std::identity()));
  if (!shapes.empty()) made.shape = middle_of(std::move(shapes), in_order);
  return made;
}

// Without a bound: the report concerns its own memory only.
std::uint64_t own_need(const ModelOnDisk& report, const Believed& all) {
  const bool counts = report.bytes == all.bytes && report.predicted > 0;
  return counts ? std::max(report.predicted, report.bytes) : all.need;
}

SplitModel own_shape(const ModelOnDisk& report, const Believed& all) {
  auto shape = all.shape;
  const bool counts = report.bytes == all.bytes && report.layers == shape.layers && has_likely_shape(report);
  if (!counts) return shape;
  shape.cache_bytes = report.cache_bytes;
  shape.compute_bytes = report.compute_bytes;
  shape.context = report.split_context;
  shape.max_context = report.max_context;
  return shape;
}

}  // namespace corral::mesh
