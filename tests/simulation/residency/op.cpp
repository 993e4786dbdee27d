#include "simulation/residency/op.h"

#include <array>

#include <fmt/format.h>

#include "simulation/residency/fake_memory.h"
#include "simulation/residency/zoo.h"

namespace corral::residency::simulation {
namespace {

using Kind = Op::Kind;

constexpr std::array kFates{
    "loads",       "is missing", "is broken", "fits only alone", "crashes while loading", "hangs while loading",
    "dies at work"};

struct Weight {
  Kind kind;
  std::uint32_t usual;
  bool always;  // otherwise a seed may do without
};
constexpr std::array kWeights{
    Weight{Kind::acquire, 300, true},  Weight{Kind::elapse, 220, true},    Weight{Kind::load, 40, false},
    Weight{Kind::unload, 25, false},   Weight{Kind::unload_all, 6, false}, Weight{Kind::pin, 30, false},
    Weight{Kind::cancel, 40, false},   Weight{Kind::crash, 15, false},     Weight{Kind::fate, 25, false},
    Weight{Kind::settings, 15, false}, Weight{Kind::wall_clock, 4, false}, Weight{Kind::traits, 60, false},
    Weight{Kind::foreign, 25, false},  Weight{Kind::sampler, 8, false},    Weight{Kind::lateness, 8, false},
    Weight{Kind::simulate, 8, false},  Weight{Kind::disk, 50, false},      Weight{Kind::peer, 250, true},
    Weight{Kind::lend, 12, false},     Weight{Kind::share, 60, false},     Weight{Kind::end, 25, false},
};
constexpr std::size_t kOwnKinds = kWeights.size() - 4;  // those without peers

// Short more often than long: 1 ... most, evenly over the powers of two.
std::uint32_t stretched(Dice& dice, std::uint32_t max) {
  std::uint32_t limit = 1;
  for (std::uint32_t doublings = dice.roll(13); doublings > 0 && limit < max; --doublings) limit *= 2;
  return 1 + dice.roll(std::min(limit, max));
}

// Small enough for some to be in memory beside each other, large enough for them to be in each other's way.
std::uint8_t middling(Dice& dice) { return static_cast<std::uint8_t>(1 + dice.roll(14)); }

const char* name(const Op& op) { return kZoo[op.animal].name; }

}  // namespace

std::vector<Op> random_scenario(std::uint64_t seed, std::size_t length, bool peers) {
  Dice dice(seed);
  std::array<std::uint32_t, kWeights.size()> weights{};
  std::uint32_t total = 0;
  const std::size_t kinds = peers ? kWeights.size() : kOwnKinds;
  for (std::size_t i = 0; i < kinds; ++i) {
    weights[i] = kWeights[i].always || dice.chance(60) ? kWeights[i].usual : 0;
    total += weights[i];
  }
  std::vector<std::uint8_t> animals;
  for (std::uint8_t i = 0; i < kModels; ++i) {
    if (dice.chance(50)) animals.push_back(i);
  }
  while (animals.size() < 2) animals.push_back(static_cast<std::uint8_t>(dice.roll(kModels)));
  const std::uint32_t longest_hold = 1U << (4 + dice.roll(9));
  const std::uint32_t longest_wait = 1U << (3 + dice.roll(9));

  std::vector<Op> scenario;
  if (peers) scenario.push_back({.kind = Kind::lend, .nth = 3, .choice = 2, .ms = 1U << (6 + dice.roll(6))});
  for (std::size_t i = 0; peers && i < animals.size(); ++i) {  // only what is known of can be lent
    if (dice.chance(80))
      scenario.push_back({.kind = Kind::traits, .animal = animals[i], .nth = middling(dice), .choice = 1});
  }
  if (peers) scenario.push_back({.kind = Kind::traits, .animal = kShare, .nth = middling(dice), .choice = 1});
  for (std::size_t i = 0; i < length; ++i) {
    std::uint32_t at = dice.roll(total);
    std::size_t which = 0;
    while (at >= weights[which]) at -= weights[which++];
    Op op{.kind = kWeights[which].kind};
    op.animal = animals[dice.roll(static_cast<std::uint32_t>(animals.size()))];
    op.nth = static_cast<std::uint8_t>(dice.roll(16));
    op.options = dice.chance(70) ? 0 : static_cast<std::uint8_t>(1 + dice.roll(2));
    op.choice = static_cast<std::uint8_t>(dice.roll(3));
    const bool of_share = op.kind == Kind::share || op.kind == Kind::end;
    const bool what_it_is_like = op.kind == Kind::fate || op.kind == Kind::traits || op.kind == Kind::disk;
    if (of_share || (peers && what_it_is_like && dice.chance(15))) op.animal = kShare;
    const bool holds = op.kind == Kind::acquire || op.kind == Kind::peer || op.kind == Kind::share;
    op.ms = stretched(dice, holds ? longest_hold : longest_wait);
    if (op.kind == Kind::lend) {
      op.ms = 1U << (6 + dice.roll(6));
      op.choice = dice.chance(20) ? 0 : static_cast<std::uint8_t>(1 + dice.roll(2));
    }
    if (op.kind == Kind::pin) op.choice = dice.chance(50);
    if (op.kind == Kind::fate) op.choice = dice.chance(50) ? 0 : static_cast<std::uint8_t>(dice.roll(kFates.size()));
    if (op.kind == Kind::settings) {
      op.choice = static_cast<std::uint8_t>(dice.roll(5));
      op.options = dice.chance(20);
      op.ms = dice.chance(20) ? 0 : 1U << (4 + dice.roll(8));
    }
    if (op.kind == Kind::foreign) op.ms = dice.chance(30) ? 0 : dice.roll(kPoolSize);
    if (op.kind == Kind::sampler) {
      op.choice = static_cast<std::uint8_t>(dice.chance(80) ? 0 : 1 + dice.roll(2));
      op.ms = dice.chance(80) ? 1 + dice.roll(20) : 1U << dice.roll(14);
    }
    if (op.kind == Kind::disk) {
      op.choice = static_cast<std::uint8_t>(dice.chance(70) ? 0 : 1 + dice.roll(2));
      op.ms = dice.chance(70) ? 1 + dice.roll(20) : 1U << dice.roll(13);
    }
    if (op.kind == Kind::lateness) op.ms = dice.chance(40) ? 0 : 1U << dice.roll(14);
    if (op.kind == Kind::traits) {
      op.choice = static_cast<std::uint8_t>(dice.chance(75) ? 1 : dice.roll(3));
      op.ms = 1U << (4 + dice.roll(14));
    }
    scenario.push_back(op);
  }
  return scenario;
}

Settings settings_of(const Op& op) {
  Settings settings{.limits = Limits::of_all(op.choice == 0 ? kUnlimited : op.choice)};
  settings.swap_patience = Millis{op.ms};
  settings.nuclear_evicts_pinned = op.options == 1;
  if (op.nth % 4 == 1) settings.max_queued = op.nth;
  return settings;
}

void lend_by(const Op& op, Settings& settings) {
  settings.lend_share = op.choice * 0.5;
  settings.lend_slots = op.nth % 4 + 1;
  settings.lend_evicts_local = op.options != 1;
  settings.lend_quiet = Millis{op.ms};
  settings.recall_grace = Millis{op.ms * 2};
  settings.lend_wait = Millis{op.ms * 4};
  settings.lend_idle_unload = Millis{op.ms * 16};
}

Traits traits_of(const Op& op) {
  Traits traits{.understated = op.choice == 2};
  const Device device = kZoo[op.animal].device;
  const std::int64_t size = op.nth == 15 ? kPoolSize + 1 : 20 + op.nth * 40;
  Footprint footprint;
  if (has(device, Device::gpu)) footprint.whole[1] = size;
  if (device != Device::gpu) footprint.whole[0] = footprint.whole[1] > 0 ? size / 2 : size;
  for (std::size_t i = 0; i < kPoolCount; ++i) footprint.dynamic[i] = footprint.whole[i] * (op.nth % 4) / 8;
  if (op.choice > 0) traits.memory = use_of(footprint);
  if (op.options > 0) {
    traits.eviction = {.auto_evict = true,
                       .downsize_idle_timeout = Millis{op.ms},
                       .evict_idle_timeout = Millis{op.ms * 3},
                       .evict_weight_factor = double(op.options)};
  }
  return traits;
}

double pressure_of(const Op& op) { return op.choice == 0 ? -1 : op.choice == 1 ? 0.95 : 0.5; }

std::string describe(const Op& op) {
  constexpr std::array kPins{"", ", pinned", ", unpinned"};
  switch (op.kind) {
    case Kind::acquire:
      return fmt::format("request for {} that takes {} ms", name(op), op.ms);
    case Kind::load:
      return fmt::format("load {} with options {}{}", name(op), op.options, kPins[op.choice]);
    case Kind::unload:
      return fmt::format("unload {}", name(op));
    case Kind::unload_all:
      return "unload all";
    case Kind::pin:
      return fmt::format("{} {}", op.choice != 0 ? "pin" : "unpin", name(op));
    case Kind::cancel:
      return fmt::format("cancel number {} of those who wait", op.nth);
    case Kind::crash:
      return fmt::format("crash of child number {}", op.nth);
    case Kind::fate:
      return fmt::format("from now on {} {}", name(op), kFates[op.choice]);
    case Kind::settings:
      return fmt::format("settings: max {} per type, patience {} ms, {} may wait{}", to_text(settings_of(op).limits),
                         op.ms, settings_of(op).max_queued, op.options == 1 ? ", nuclear" : "");
    case Kind::elapse:
      return fmt::format("{} ms pass", op.ms);
    case Kind::wall_clock:
      return fmt::format("the wall clock jumps back by {} ms", op.ms);
    case Kind::traits: {
      const Traits traits = traits_of(op);
      std::string text;
      for (const PoolUse& use : traits.memory)
        text += fmt::format(" {} of {} ({} dynamic)", use.total, use.pool.value(), use.dynamic);
      if (text.empty()) text = " nobody knows how much";
      const EvictionSettings& eviction = traits.eviction;
      if (eviction.auto_evict)
        text += fmt::format(", idle for {} and {} ms", eviction.downsize_idle_timeout.count(),
                            eviction.evict_idle_timeout.count());
      return fmt::format("{} takes{}{}", name(op), text, traits.understated ? ", really twice as much" : "");
    }
    case Kind::foreign:
      return fmt::format("others use {} of {}", op.ms, kPoolNames[op.choice % kPoolCount]);
    case Kind::sampler:
      if (op.choice == 2) return "whoever asks for the memory gets no answer";
      return fmt::format("memory is {}measured within {} ms", op.choice == 1 ? "not " : "", op.ms);
    case Kind::lateness:
      return fmt::format("memory comes back after {} ms", op.ms);
    case Kind::disk:
      return fmt::format("a look at {} takes {} ms{}", name(op), op.ms,
                         op.choice == 1   ? " and finds nothing"
                         : op.choice == 2 ? " and gets no answer"
                                          : "");
    case Kind::peer:
      return fmt::format("a peer's request for {} that takes {} ms", name(op), op.ms);
    case Kind::lend:
      return fmt::format("lent: {} of each memory, {} of a type, quiet after {} ms{}", op.choice * 0.5, op.nth % 4 + 1,
                         op.ms, op.options == 1 ? ", none of the owner's goes" : "");
    case Kind::share:
      return fmt::format("a group has {} for {} ms", name(op), op.ms);
    case Kind::end:
      return fmt::format("the end of {}", name(op));
    case Kind::simulate:
      return fmt::format("a simulated pass of {}", pressure_of(op));
  }
  return "?";
}

}  // namespace corral::residency::simulation
