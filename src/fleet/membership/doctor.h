// What is wrong with this node's mesh, in words: each thing that was looked at, with what was found and what to do.
// Pure, but for what it is given.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/base/node_options.h"
#include "fleet/membership/probe.h"
#include "fleet/view/mesh_view.h"
#include "proc/sandbox.h"

namespace corral::fleet {

enum class CheckStatus : std::uint8_t { fine, warning, broken };
std::string_view name_of(CheckStatus verdict);

struct Finding {
  CheckStatus verdict{};
  std::string step;       // "identity", "listen", "link", "reached", "version", "clock", ...
  std::string node = {};  // the other one; empty: this node's own
  std::string text;       // one sentence, with the way out where something is wrong
};

// What had to be asked for.
struct Examination {
  std::string identity_problem;                    // empty: fine
  std::string hints;                               // state of what spreads them; empty: nothing does
  std::uint64_t disk_free = 0;                     // bytes where the node keeps its state
  std::optional<Result<proc::Sandboxed>> sandbox;  // of who looks at copied files; none: there are no copies
  std::map<mesh::NodeId, std::map<std::string, Result<ProbeResult>>> probes;  // by node, by own address
  // Nodes that the settings name and that are no members here: what came of dialling them; empty: they let this one in.
  std::map<mesh::NodeId, std::string> named;
};

// Whether a worker may run here, which holds layers of a model for another node: it counts as taken over by that node,
// so it is locked in or isn't there.
bool may_work(const proc::Sandboxed& sandbox);

// Own things first, then node by node.
std::vector<Finding> examine(const MeshView& view, const NodeOptions& options, const Examination& found);

// Whether the key is there, and nobody else's to read. Empty: it is. Two system calls.
std::string identity_problem(const NodeOptions& options);

}  // namespace corral::fleet
