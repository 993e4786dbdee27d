// How long a simulation goes on, and from which seed: by the environment.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace corral::simulation {

inline constexpr std::uint64_t kDefaultLength = 400'000;

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace corral::simulation
