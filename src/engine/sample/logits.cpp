#include "engine/sample/logits.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

namespace corral::engine {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

std::uint32_t argmax(const float* values, std::uint32_t n) {
  // First the largest of each stretch, which the compiler turns into vector code, then the place in the best stretch.
  constexpr std::uint32_t kStretch = 1024;
  constexpr std::uint32_t kLanes = 32;
  std::uint32_t best_stretch = 0;
  float best = -kInfinity;
  for (std::uint32_t begin = 0; begin < n; begin += kStretch) {
    const std::uint32_t end = std::min(n, begin + kStretch);
    std::array<float, kLanes> lanes;
    lanes.fill(-kInfinity);
    std::uint32_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (std::uint32_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
    }
    float largest = *std::ranges::max_element(lanes);
    for (; i < end; ++i) largest = values[i] > largest ? values[i] : largest;
    if (largest > best) {
      best = largest;
      best_stretch = begin;
    }
  }
  for (std::uint32_t i = best_stretch; i < std::min(n, best_stretch + kStretch); ++i) {
    if (values[i] == best) return i;
  }
  return 0;
}

bool preselect(std::span<const float> logits, std::uint32_t k, std::span<const Token> changed,
               PreselectScratch& scratch, std::vector<llama_token_data>& to) {
  std::vector<float>& largest = scratch.largest;
  largest.clear();
  to.clear();
  float limit = -kInfinity;  // the k-th largest so far: what isn't larger changes nothing
  bool numbers = true;
  auto next_changed = changed.begin();
  const auto visit = [&](std::size_t i) {
    const float logit = logits[i];
    numbers = numbers && logit < kInfinity;
    if (next_changed != changed.end() && static_cast<std::size_t>(*next_changed) == i) {
      ++next_changed;
    } else if (largest.size() < k) {
      largest.push_back(logit);
      if (largest.size() < k) {
        to.push_back({static_cast<Token>(i), logit, 0.0f});
        return;
      }
      std::ranges::make_heap(largest, std::greater<>{});
      limit = largest.front();
    } else if (logit > limit) {
      std::ranges::pop_heap(largest, std::greater<>{});
      largest.back() = logit;
      std::ranges::push_heap(largest, std::greater<>{});
      limit = largest.front();
    } else {
      return;
    }
    to.push_back({static_cast<Token>(i), logit, 0.0f});
  };

  std::size_t i = 0;
  for (; i < logits.size() && largest.size() < k; ++i) visit(i);
  for (; i + kLogitBlock <= logits.size(); i += kLogitBlock) {
    const bool has_changed = next_changed != changed.end() && static_cast<std::size_t>(*next_changed) < i + kLogitBlock;
    if (!has_changed && !any_above(logits.data() + i, limit)) continue;
    for (std::size_t inside = 0; inside < kLogitBlock; ++inside) visit(i + inside);
    if (!numbers) return false;
  }
  for (; i < logits.size(); ++i) visit(i);
  return numbers;
}

}  // namespace corral::engine
