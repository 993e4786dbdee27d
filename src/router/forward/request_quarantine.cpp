#include "router/forward/request_quarantine.h"

#include <algorithm>
#include <functional>
#include <string>

namespace corral::router {
namespace {

constexpr int kEnds = 2;
constexpr double kBlame = 0.5;
constexpr Millis kKeptOff{60'000};
constexpr int kMaxDoublings = 5;
constexpr Millis kRemembered = std::chrono::minutes(10);
constexpr std::size_t kMax = 1024;

}  // namespace

RequestQuarantine::Key RequestQuarantine::key_of(const ModelName& model, std::string_view path, std::string_view body) {
  const std::hash<std::string_view> hash;
  const auto mix = [](std::uint64_t a, std::uint64_t b) { return (a ^ b) * 0x9e3779b97f4a7c15ULL + (a << 6); };
  return mix(mix(hash(model.value()), hash(path)), hash(body));
}

std::optional<Millis> RequestQuarantine::quarantined(Key key) {
  const auto now = clock_.now();
  const MutexLock lock(mutex_);
  const auto found = suspects_.find(key);
  if (found == suspects_.end() || found->second.off_until <= now) return std::nullopt;
  return std::chrono::ceil<Millis>(found->second.off_until - now);
}

bool RequestQuarantine::note(Key key, const UpstreamExit& ending) {
  const auto now = clock_.now();
  const MutexLock lock(mutex_);
  forget_old(now);
  Suspect& suspect = suspects_[key];
  any_ = true;
  suspect.blame += 1.0 / static_cast<double>(std::max<std::size_t>(ending.requests, 1));
  suspect.last_end = now;
  if (suspect.last != ending.number) ++suspect.ends;
  suspect.last = ending.number;
  if (suspect.ends < kEnds) return true;
  if (suspect.blame >= kBlame)
    suspect.off_until = now + kKeptOff * (1 << std::min(suspect.ends - kEnds, kMaxDoublings));
  return false;
}

void RequestQuarantine::forget(Key key) {
  const MutexLock lock(mutex_);
  suspects_.erase(key);
}

void RequestQuarantine::forget_old(MonoTime now) {
  std::erase_if(suspects_, [&](const auto& entry) {
    return now - std::max(entry.second.last_end, entry.second.off_until) > kRemembered;
  });
  if (suspects_.size() < kMax) return;
  suspects_.erase(std::ranges::min_element(suspects_, {}, [](const auto& entry) { return entry.second.last_end; }));
}

}  // namespace corral::router
