#include "simulation/residency/fake_memory.h"

#include <algorithm>

namespace corral::residency::simulation {

Footprint footprint_of(const MemoryUse& use) {
  Footprint result;
  for (const PoolUse& one : use) {
    for (std::size_t i = 0; i < kPoolCount; ++i) {
      if (one.pool.value() != kPoolNames[i]) continue;
      result.whole[i] += static_cast<std::int64_t>(one.total);
      result.dynamic[i] += static_cast<std::int64_t>(one.dynamic);
    }
  }
  return result;
}

MemoryUse use_of(const Footprint& footprint) {
  MemoryUse use;
  for (std::size_t i = 0; i < kPoolCount; ++i) {
    if (footprint.whole[i] == 0) continue;
    use.push_back({PoolId(kPoolNames[i]), static_cast<std::uint64_t>(footprint.whole[i]),
                   static_cast<std::uint64_t>(footprint.dynamic[i])});
  }
  return use;
}

void FakeMemory::start(InstanceId child, const Footprint& really) { children_[child] = {.really = really}; }
void FakeMemory::loaded(InstanceId child) { children_.at(child).loading = false; }
void FakeMemory::shrink(InstanceId child) { children_.at(child).shrunk = true; }
void FakeMemory::grow(InstanceId child) { children_.at(child).shrunk = false; }

FakeMemory::Late FakeMemory::end(InstanceId child, const Bytes2& reported) {
  const Late late{.bytes = held(child), .promised = smaller(held(child), reported)};
  children_.erase(child);
  late_ = {.bytes = late_.bytes + late.bytes, .promised = late_.promised + late.promised};
  return late;
}

void FakeMemory::returned(const Late& late) {
  late_ = {.bytes = late_.bytes - late.bytes, .promised = late_.promised - late.promised};
}

void FakeMemory::use_elsewhere(std::size_t pool, std::int64_t bytes) {
  foreign_[pool] = std::clamp<std::int64_t>(bytes, 0, std::max<std::int64_t>(0, foreign_[pool] + available()[pool]));
}

Bytes2 FakeMemory::held(InstanceId child) const {
  const auto at = children_.find(child);
  if (at == children_.end()) return {};
  const Holding& holding = at->second;
  Bytes2 bytes = holding.shrunk ? holding.really.whole - holding.really.dynamic : holding.really.whole;
  if (holding.loading) std::ranges::for_each(bytes, [](std::int64_t& one) { one /= 2; });
  return bytes;
}

bool FakeMemory::shrunk(InstanceId child) const { return children_.contains(child) && children_.at(child).shrunk; }

Bytes2 FakeMemory::available() const {
  Bytes2 left{};
  left.fill(kPoolSize);
  left = left - foreign_ - late_.bytes;
  for (const auto& [id, unused] : children_) left = left - held(id);
  return left;
}

MemorySampled FakeMemory::sample() const {
  MemorySampled sampled;
  const Bytes2 left = available();
  for (std::size_t i = 0; i < kPoolCount; ++i) {
    sampled.pools.push_back({PoolId(kPoolNames[i]), static_cast<std::uint64_t>(kPoolSize),
                             static_cast<std::uint64_t>(std::max<std::int64_t>(0, left[i]))});
  }
  return sampled;
}

}  // namespace corral::residency::simulation
