#include "mesh/peers/dial/dial_policy.h"

namespace corral::mesh {

bool is_fresh(const DialRules& rules, Millis gone) { return gone < rules.fresh_for; }

Millis next_beat(const DialRules& rules, Millis gone, double random) {
  if (is_fresh(rules, gone)) return rules.fresh_every;
  const auto factor = 1 + rules.jitter * (2 * random - 1);
  return Millis(static_cast<Millis::rep>(static_cast<double>(rules.every.count()) * factor));
}

Millis dial_limit(const DialRules& rules, Millis gone) {
  return is_fresh(rules, gone) ? rules.fresh_limit : rules.limit;
}

std::vector<std::size_t> dialled_at(std::uint64_t beat, std::size_t addresses) {
  std::vector<std::size_t> chosen;
  if (addresses > 0) chosen.push_back(0);
  if (addresses > 1) chosen.push_back(1 + static_cast<std::size_t>(beat % (addresses - 1)));
  return chosen;
}

}  // namespace corral::mesh
