// Sizes in messages for people.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace corral::mesh {

inline std::string in_gb(std::uint64_t bytes) { return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9); }

}  // namespace corral::mesh
