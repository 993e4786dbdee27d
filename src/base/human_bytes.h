// Sizes in messages and tables for people: one style in the whole program. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace corral {

// In binary units, with at least two digits: "730 KiB", "4.1 GiB".
std::string human_bytes(std::uint64_t bytes);

}  // namespace corral
