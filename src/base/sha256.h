// SHA-256 after FIPS 180-4, for small texts. A library for it would be loaded by every engine's process at its start;
// this costs half a microsecond for a key, and large files are hashed elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace corral {

using Sha256 = std::array<std::uint8_t, 32>;

// Of the parts, one behind the other.
Sha256 sha256(std::initializer_list<std::string_view> parts);

}  // namespace corral
