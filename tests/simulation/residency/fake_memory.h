// The memory of the fake world: what children really hold, what comes back late, what other programs use.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "residency/event.h"

namespace corral::residency::simulation {

inline constexpr std::size_t kPoolCount = 2;
inline constexpr std::array<const char*, kPoolCount> kPoolNames{"ram", "gpu0"};
inline constexpr std::int64_t kPoolSize = 1000;

using Bytes2 = std::array<std::int64_t, kPoolCount>;

inline Bytes2 operator+(Bytes2 a, const Bytes2& b) {
  for (std::size_t i = 0; i < kPoolCount; ++i) a[i] += b[i];
  return a;
}
// The smaller one, pool by pool.
inline Bytes2 smaller(Bytes2 a, const Bytes2& b) {
  for (std::size_t i = 0; i < kPoolCount; ++i) a[i] = std::min(a[i], b[i]);
  return a;
}
inline Bytes2 operator-(Bytes2 a, const Bytes2& b) {
  for (std::size_t i = 0; i < kPoolCount; ++i) a[i] -= b[i];
  return a;
}

struct Footprint {
  Bytes2 whole{};
  Bytes2 dynamic{};
};
// What the core is told of a model, as numbers.
Footprint footprint_of(const MemoryUse& use);
MemoryUse use_of(const Footprint& footprint);

class FakeMemory {
 public:
  // A load takes half at once and the rest when it ends.
  void start(InstanceId child, const Footprint& really);
  void loaded(InstanceId child);
  void shrink(InstanceId child);
  void grow(InstanceId child);
  // Memory of a child that is gone, until the system notices that it is free.
  struct Late {
    Bytes2 bytes{};
    Bytes2 promised{};  // as much of it as the core was told of
  };
  Late end(InstanceId child, const Bytes2& reported);
  void returned(const Late& late);

  Bytes2 held(InstanceId child) const;
  bool shrunk(InstanceId child) const;
  Bytes2 available() const;
  const Bytes2& promised() const { return late_.promised; }
  MemorySampled sample() const;

  // Other programs use so much, if they get it.
  void use_elsewhere(std::size_t pool, std::int64_t bytes);

 private:
  struct Holding {
    Footprint really;
    bool loading = true;
    bool shrunk = false;
  };
  std::map<InstanceId, Holding> children_;
  Late late_;
  Bytes2 foreign_{};
};

}  // namespace corral::residency::simulation
