// Problems of this node's mesh as text: each check with its result and the remedy. Pure, apart from its input.
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
  std::string node = {};  // the other node; empty: the check is of this node
  std::string text;       // one sentence, with the remedy if there is a problem
};

// Results of checks that need I/O.
struct Examination {
  std::string identity_problem;                    // empty: fine
  std::string hints;                               // state of the discovery agent; empty: none
  std::uint64_t disk_free = 0;                     // free bytes of the state folder's disk
  std::optional<Result<proc::Sandboxed>> sandbox;  // of the file inspector; none: there are no copies
  std::map<mesh::NodeId, std::map<std::string, Result<ProbeResult>>> probes;  // by node, by own address
  // Result of dialling nodes that the settings name and that are no members; empty: they admit this node.
  std::map<mesh::NodeId, std::string> named;
};

// Whether a worker, which holds layers of a model for another node, may run here. It may be controlled by that node, so
// it runs in a sandbox or not at all.
bool may_work(const proc::Sandboxed& sandbox);

// Findings about this node first, then node by node.
std::vector<Finding> examine(const MeshView& view, const NodeOptions& options, const Examination& found);

// Whether the key exists and only its user can read it. Empty: yes. Two system calls.
std::string identity_problem(const NodeOptions& options);

}  // namespace corral::fleet
