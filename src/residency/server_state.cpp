#include "residency/server_state.h"

#include <array>
#include <initializer_list>

namespace corral::residency {
namespace {

using enum ServerState;

struct Row {
  ServerState from;
  std::initializer_list<ServerState> to;
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

using Bits = std::array<std::uint16_t, kServerStateCount>;
constexpr Bits kAllowed = [] {
  Bits bits{};
  for (const Row& row : kMoves) {
    for (ServerState to : row.to) bits[static_cast<std::size_t>(row.from)] |= std::uint16_t(1U << static_cast<int>(to));
  }
  return bits;
}();

constexpr std::array<const char*, kServerStateCount> kNames{"queued",    "loading",  "ready",    "in_use", "downsizing",
                                                            "downsized", "draining", "evicting", "gone",   "failed"};

}  // namespace

const char* name_of(ServerState state) { return kNames[static_cast<std::size_t>(state)]; }

bool may_move(ServerState from, ServerState to) {
  return (kAllowed[static_cast<std::size_t>(from)] >> static_cast<int>(to) & 1U) != 0;
}

}  // namespace corral::residency
