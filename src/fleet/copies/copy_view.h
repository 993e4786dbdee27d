// A copy of a model to this node, for display.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/sha256.h"
#include "mesh/identity/keys.h"

namespace corral::fleet {

enum class CopyState : std::uint8_t { waiting, copying, done, failed };
std::string_view name_of(CopyState state);

// One copy to this node. A plain value.
struct CopyView {
  Sha256 content{};
  std::string model = {};  // as its nodes name it
  CopyState state = CopyState::waiting;
  std::uint64_t done = 0, total = 0;  // bytes
  double bytes_per_second = 0;
  std::optional<mesh::NodeId> from = {};
  std::string problem = {};    // of a failed copy: the cause and the remedy
  bool by_allocation = false;  // ordered only by the allocation
};

}  // namespace corral::fleet
