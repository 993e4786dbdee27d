#include "mesh/net/stream.h"

#include <array>

namespace corral::mesh {
namespace {

constexpr std::array<std::string_view, kPurposes> kNames = {"corral/1/control", "corral/1/http", "corral/1/copy",
                                                            "corral/1/join"};

}  // namespace

std::string_view alpn_of(Purpose purpose) { return kNames[static_cast<std::size_t>(purpose)]; }

std::optional<Purpose> purpose_of(std::string_view alpn) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == alpn) return static_cast<Purpose>(i);
  }
  return std::nullopt;
}

}  // namespace corral::mesh
