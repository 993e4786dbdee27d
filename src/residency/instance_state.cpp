#include "residency/instance_state.h"

#include <array>
#include <initializer_list>

namespace corral::residency {
namespace {

using enum InstanceState;

struct Row {
  InstanceState from;
  std::initializer_list<InstanceState> to;
};
constexpr Row kMoves[] = {
    {queued, {loading, gone}},
    {loading, {ready, evicting, failed}},
    {ready, {in_use, downsizing, draining, failed}},
    {in_use, {ready, draining, failed}},
    {downsizing, {ready, in_use, downsized, draining, failed}},
    {downsized, {in_use, draining, failed}},
    {draining, {in_use, evicting, failed}},
    {evicting, {gone, failed}},
    {gone, {}},
    {failed, {}},
};

using Bits = std::array<std::uint16_t, kInstanceStateCount>;
constexpr Bits kAllowed = [] {
  Bits bits{};
  for (const Row& row : kMoves) {
    for (InstanceState to : row.to)
      bits[static_cast<std::size_t>(row.from)] |= std::uint16_t(1U << static_cast<int>(to));
  }
  return bits;
}();

constexpr std::array<const char*, kInstanceStateCount> kNames{
    "queued", "loading", "ready", "in_use", "downsizing", "downsized", "draining", "evicting", "gone", "failed"};

}  // namespace

const char* name_of(InstanceState state) { return kNames[static_cast<std::size_t>(state)]; }

bool may_move(InstanceState from, InstanceState to) {
  return (kAllowed[static_cast<std::size_t>(from)] >> static_cast<int>(to) & 1U) != 0;
}

}  // namespace corral::residency
