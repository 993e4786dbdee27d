// For tests of the rules of memory: a core without limits, whose models use "gpu0", which has 100 bytes.
#pragma once

#include "residency/core_harness_for_tests.h"

namespace corral::residency {

inline constexpr EvictionSettings kOn{.auto_evict = true};
inline constexpr EvictionSettings kOff{};

struct Memory : testing::Test {
  CoreHarness house{CoreHarness::slots(-1)};

  // Loaded in `load_time`, and idle from now on.
  void have(const std::string& name, std::uint64_t total, std::uint64_t dynamic, EvictionSettings eviction,
            Millis load_time = Millis{100}) {
    house.needs(name, total, dynamic).eviction = eviction;
    house.acquire(name);
    house.free(100);
    house.pass(load_time);
    house.succeed(name);
    house.finish(house.last_ticket());
  }
  // Sets the free memory of "gpu0" and "ram", of 100 each.
  CoreHarness::Lines both(std::uint64_t gpu, std::uint64_t ram) {
    return house.send(MemorySampled{{{PoolId("gpu0"), 100, gpu}, {PoolId("ram"), 100, ram}}});
  }
};

}  // namespace corral::residency
