// How long a simulation goes on, and from which seed: by the environment, shorter under sanitizers.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace corral::simulation {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr std::uint64_t kDefaultLength = 100'000;
#else
inline constexpr std::uint64_t kDefaultLength = 1'000'000;
#endif
#else
inline constexpr std::uint64_t kDefaultLength = 1'000'000;
#endif

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace corral::simulation
