// The generator's own random numbers: the same on every machine, compiler and standard library, which the standard's
// distributions are not. Every tensor draws from a stream named after it, so that models can change one by one.
// Values: integers, and floats made from them by one exactly rounded product. One stream belongs to one thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace corral::test_models {

class Random {
 public:
  // A stream of its own for each seed and list of names (model, tensor).
  Random(std::uint64_t seed, std::initializer_list<std::string_view> names) : state_(seed) {
    for (std::string_view name : names) {
      std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
      for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
      state_ = mix(state_ ^ hash);
    }
  }

  std::uint64_t bits() { return mix(state_ += 0x9e3779b97f4a7c15U); }  // splitmix64

  // Bell-shaped with mean 0 and standard deviation 1: the sum of four 16-bit uniform values, never beyond 3.47.
  float normal() {
    const std::uint64_t draw = bits();
    const auto sum =
        static_cast<std::int32_t>((draw & 0xffff) + ((draw >> 16) & 0xffff) + ((draw >> 32) & 0xffff) + (draw >> 48));
    return static_cast<float>(sum - 131070) * 2.6428996e-5F;  // 1 / sqrt(4/12 * 65536^2)
  }

  // -1 or +1.
  float sign() { return (bits() >> 63) != 0 ? 1.0F : -1.0F; }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace corral::test_models
