// SHA-256 after FIPS 180-4, for small texts. A library would be loaded by every engine process at its start. This code
// takes half a microsecond for a key; large files are hashed elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace corral {

using Sha256 = std::array<std::uint8_t, 32>;

// The digest of the concatenated parts.
Sha256 sha256(std::initializer_list<std::string_view> parts);

}  // namespace corral
