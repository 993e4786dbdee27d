#pragma once

#include <string_view>

namespace corral::app {

inline constexpr std::string_view kVersion = CORRAL_VERSION;

}  // namespace corral::app
