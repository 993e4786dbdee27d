#include "engine/sample/logprobs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "engine/sample/logits.h"

namespace corral::engine {
namespace {

// exp(x) for x <= 0, made of steps that vector units have: 2^whole * e^rest with |rest| <= ln(2) / 2, the second factor
// by its series. Relative error below 3e-7; what is smaller than e^-87 becomes that.
inline float exp_of_negative(float x) {
  constexpr float kLog2e = 1.44269504f;
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: added to a small number it leaves the nearest whole one
  x = x > -87.0f ? x : -87.0f;
  const float shifted = x * kLog2e + kRound;
  const float whole = shifted - kRound;
  const float rest = x - whole * kLn2High - whole * kLn2Low;
  float series = 1.0f / 720;
  for (const float coefficient : {1.0f / 120, 1.0f / 24, 1.0f / 6, 1.0f / 2, 1.0f, 1.0f})
    series = series * rest + coefficient;
  const auto exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(kRound);
  return series * std::bit_cast<float>((exponent + 127) << 23);
}

}  // namespace

void most_likely(std::span<const float> logits, std::uint32_t n, std::vector<Token>& to) {
  const auto before = [&](Token a, Token b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  if (n > logits.size() / 8) {
    to.resize(logits.size());
    std::iota(to.begin(), to.end(), 0);
    const auto end = to.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(n, logits.size()));
    std::partial_sort(to.begin(), end, to.end(), before);
    to.erase(end, to.end());
    return;
  }
  to.clear();
  if (n == 0) return;
  // A heap with the least likely on top.
  const auto visit = [&](std::size_t i) {
    const auto token = static_cast<Token>(i);
    if (to.size() == n) {
      if (!before(token, to.front())) return;
      std::ranges::pop_heap(to, before);
      to.pop_back();
    }
    to.push_back(token);
    std::ranges::push_heap(to, before);
  };
  std::size_t i = 0;
  for (; i < n; ++i) visit(i);
  for (; i + kLogitBlock <= logits.size(); i += kLogitBlock) {
    if (!any_above(logits.data() + i, logits[static_cast<std::size_t>(to.front())])) continue;
    for (std::size_t inside = 0; inside < kLogitBlock; ++inside) visit(i + inside);
  }
  for (; i < logits.size(); ++i) visit(i);
  std::ranges::sort_heap(to, before);
}

float log_sum_exp(std::span<const float> logits, float largest) {
  constexpr std::size_t kLanes = 16;
  constexpr std::size_t kStretch = 1024;  // added up in single precision
  double sum = 0;
  std::size_t i = 0;
  while (i + kLanes <= logits.size()) {
    const std::size_t end = std::min(logits.size(), i + kStretch);
    std::array<float, kLanes> lanes{};
    for (; i + kLanes <= end; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += exp_of_negative(logits[i + lane] - largest);
    }
    for (const float lane : lanes) sum += lane;
  }
  for (; i < logits.size(); ++i) sum += exp_of_negative(logits[i] - largest);
  return static_cast<float>(std::log(sum)) + largest;
}

}  // namespace corral::engine
