#include "path.h"

#include <algorithm>

namespace corral::wire {

std::optional<Nanos> Path::send(Nanos now, std::size_t bytes, bool begins_connection, std::mt19937_64& random) {
  const auto chance = [&](double percent) {
    return percent > 0 && std::uniform_real_distribution(0.0, 100.0)(random) < percent;
  };
  if (faults.cut) {
    ++counts.cut;
    return std::nullopt;
  }
  if (begins_connection && !faults.dials) {
    ++counts.refused;
    return std::nullopt;
  }
  if (chance(faults.loss_percent)) {
    ++counts.lost;
    return std::nullopt;
  }
  Nanos out = now;
  if (faults.rate_mbit > 0) {
    const Nanos begin = std::max(now, busy_until_);
    if (begin - now > kLongestQueue) {
      ++counts.over;
      return std::nullopt;
    }
    out = busy_until_ = begin + static_cast<Nanos>(static_cast<double>(bytes) * 8000 / faults.rate_mbit);
  }
  double delay = faults.delay_ms;
  if (faults.jitter_ms > 0) delay += std::uniform_real_distribution(-faults.jitter_ms, faults.jitter_ms)(random);
  Nanos arrival = std::max(out + static_cast<Nanos>(std::max(delay, 0.0) * kMilli), last_arrival_);
  if (chance(faults.late_percent)) {
    ++counts.late;
    return arrival + static_cast<Nanos>(faults.late_ms * kMilli);
  }
  last_arrival_ = arrival;
  return arrival;
}

bool Path::arrive() {
  ++(faults.cut ? counts.cut : counts.passed);
  return !faults.cut;
}

}  // namespace corral::wire
