// Networks whose nodes don't keep the rules of links: what comes over a control stream is looked at frame by frame
// before the node sees it. For tests of the checks.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "mesh/link/frame.h"
#include "mesh/net/stream.h"

namespace corral::mesh::simulation {

// What is made of a frame; nothing: the link ends. Also asked for frames of kinds that aren't known.
using Censor = std::function<std::optional<Frame>(Frame)>;

// The same network, for a node whose links are read by `censor`.
std::unique_ptr<Network> censored(std::unique_ptr<Network> network, Censor censor);

}  // namespace corral::mesh::simulation
