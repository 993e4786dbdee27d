// For tests: a core with requests of peers.
#pragma once

#include "residency/lending.h"
#include "residency/memory_fixture_for_tests.h"

namespace corral::residency {

using testing::HasSubstr;

inline const Millis kQuiet = Settings().lend_quiet;

// "gpu0" has 100, of which 10 are kept free. One slot of each type.
struct Lending : testing::Test {
  CoreHarness house{CoreHarness::slots(1)};

  Lending() { house.shows_watch = false; }

  CoreHarness::Lines ask(const std::string& name) {
    ModelSpec spec = house.model(name);
    spec.origin = RequestOrigin::peer;
    return house.send(Acquire{house.ticket(), std::make_shared<const ModelSpec>(spec)});
  }
  // Lent, and idle; or with a running peer request, whose number this is.
  std::uint64_t lend_busy(const std::string& name, std::uint64_t bytes, std::uint64_t free = 100) {
    house.needs(name, bytes);
    ask(name);
    const std::uint64_t number = house.last_ticket();
    house.free(free);
    house.succeed(name);
    return number;
  }
  void lend(const std::string& name, std::uint64_t bytes, std::uint64_t free = 100) {
    house.finish(lend_busy(name, bytes, free));
  }
  // Local and idle.
  void have(const std::string& name, std::uint64_t bytes, std::uint64_t free = 100) {
    house.needs(name, bytes);
    house.acquire(name);
    const std::uint64_t number = house.last_ticket();
    house.free(free);
    house.succeed(name);
    house.finish(number);
  }
  // A share of another node's model; this ticket gets its lease when it is loaded.
  std::uint64_t ask_share(const std::string& name, std::uint64_t bytes) {
    house.needs(name, bytes);
    ModelSpec& spec = house.model(name);
    spec.share = spec.once = true;
    ask(name);
    return house.last_ticket();
  }
  std::uint64_t have_share(const std::string& name, std::uint64_t bytes, std::uint64_t free = 100) {
    const std::uint64_t number = ask_share(name, bytes);
    house.free(free);
    house.succeed(name);
    return number;
  }

  const Instance* instance(const std::string& name) const { return house_state().find(ModelName(name))->current; }
  const State& house_state() const { return const_cast<CoreHarness&>(house).core().state(); }
  bool lent(const std::string& name) const { return instance(name)->lent; }
  std::string why() const { return house.error(house.last_ticket()).message; }
};

}  // namespace corral::residency
