// A node of a later minor version, as others see it: its frames say more, some are of kinds that nobody here knows, and
// so does what it says of itself.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mesh/catalog/node_state.h"
#include "mesh/net/stream.h"

namespace corral::mesh::simulation {

inline constexpr std::uint16_t kLaterMinor = 7;

// Over this network the node speaks as a later version does.
std::unique_ptr<Network> later(std::unique_ptr<Network> network);
// Pages with entries and fields that this version doesn't know.
std::vector<std::string> later_pages(const NodeState& node_state);
// Whether there is something in these bytes that only a later version says.
bool speaks_later(std::string_view bytes);

}  // namespace corral::mesh::simulation
