#include "fleet/membership/doctor.h"

#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "base/human_bytes.h"
#include "mesh/identity/identity.h"

namespace corral::fleet {
namespace {

constexpr std::uint64_t kLittleDisk = 64ull << 20;
constexpr Millis kSlow{50};  // of a round trip
constexpr Millis kOddClock{10'000};

class Report {
 public:
  void add(CheckStatus verdict, std::string step, std::string text) {
    findings_.push_back({verdict, std::move(step), node_, std::move(text)});
  }
  void fine(std::string step, std::string text) { add(CheckStatus::fine, std::move(step), std::move(text)); }
  void warn(std::string step, std::string text) { add(CheckStatus::warning, std::move(step), std::move(text)); }
  void fault(std::string step, std::string text) { add(CheckStatus::broken, std::move(step), std::move(text)); }
  void about(std::string node) { node_ = std::move(node); }
  std::vector<Finding> take() { return std::move(findings_); }

 private:
  std::string node_;
  std::vector<Finding> findings_;
};

// A sandboxed process inspects files of other nodes (file_inspector.h).
void examine_sandbox(Report& report, const Result<proc::Sandboxed>& sandbox) {
  if (!sandbox) {
    report.fault("sandbox", fmt::format("models can't be copied to this node: {}", sandbox.error().message));
    return;
  }
  std::vector<std::string> missing;
  for (const auto& [fence, why] : sandbox->missing)
    if (fence != proc::Fence::processes) missing.push_back(fmt::format("{} ({})", proc::name_of(fence), why));
  if (missing.empty()) {
    report.fine("sandbox", "a sandboxed process inspects files of other nodes");
  } else {
    report.warn("sandbox", fmt::format("a sandboxed process inspects files of other nodes, but the kernel lacks "
                                       "some sandbox features: {}",
                                       fmt::join(missing, ", ")));
  }
}

void examine_worker(Report& report, const NodeOptions& options, const Result<proc::Sandboxed>& sandbox) {
  if (options.role == mesh::Role::client) return;
  if (sandbox && may_work(*sandbox)) {
    report.fine("worker", "a sandboxed worker may hold layers of other nodes' models here");
    return;
  }
  std::vector<std::string> missing;
  if (!sandbox) missing.push_back(sandbox.error().message);
  if (sandbox) {
    for (const auto& [fence, why] : sandbox->missing)
      if (fence != proc::Fence::processes) missing.push_back(fmt::format("{} ({})", proc::name_of(fence), why));
  }
  report.warn("worker",
              fmt::format("no worker can run here, so this node holds no layers of other nodes' models: the kernel "
                          "lacks {}. If a service or container forbids it, allow user namespaces "
                          "(sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone)",
                          fmt::join(missing, ", ")));
}

void examine_self(Report& report, const MeshView& view, const NodeOptions& options, const Examination& found) {
  if (view.phase == MeshPhase::revoked) {
    report.fault("membership", "this node was revoked: leave the mesh with `corral mesh leave`");
  } else {
    report.fine("membership", fmt::format("this node is a member (start number {})", view.epoch));
  }
  found.identity_problem.empty() ? report.fine("identity", "the key exists, and other users can't read it")
                                 : report.fault("identity", found.identity_problem);
  if (view.listening) {
    report.fine("listen", fmt::format("this node listens on {}", mesh::to_text(*view.listening)));
  } else {
    report.fault("listen", view.problem.empty() ? "this node doesn't listen yet" : view.problem);
  }
  std::vector<std::string> addresses;
  for (const auto& address : view.advertised) addresses.push_back(mesh::to_text(address));
  if (addresses.empty()) {
    report.fault("addresses", "this node has no address that other nodes can reach: set mesh_advertise");
  } else {
    report.fine("addresses", fmt::format("announced addresses: {}", fmt::join(addresses, ", ")));
  }
  if (found.hints == "running") {
    report.fine("hints", "the discovery agent runs");
  } else if (!found.hints.empty()) {
    report.warn("hints", fmt::format("the discovery agent doesn't run ({}): without it up to 32 nodes find each other",
                                     found.hints));
  }
  if (found.disk_free < kLittleDisk) {
    report.warn("disk", fmt::format("only {} are free at '{}': changes of the member list may not be kept",
                                    human_bytes(found.disk_free), options.folder.native()));
  } else {
    report.fine("disk", fmt::format("{} are free for the node's state", human_bytes(found.disk_free)));
  }
  if (found.sandbox) examine_sandbox(report, *found.sandbox);
  if (found.sandbox) examine_worker(report, options, *found.sandbox);
}

// Nodes that the settings name.
void examine_named(Report& report, const Examination& found) {
  for (const auto& [node, problem] : found.named) {
    const auto node_name = mesh::short_text(node);
    if (problem.empty()) {
      report.warn("named",
                  fmt::format("mesh_peers names {}, which says that it is a member, but this node doesn't know it yet: "
                              "try again in a moment",
                              node_name));
    } else {
      report.warn("named", fmt::format("mesh_peers names {}, which is no member: {}; it joins automatically if its "
                                       "settings name this node and it is in no other mesh",
                                       node_name, problem));
    }
  }
}

void examine_unmet(Report& report, const MeshView& view) {
  if (view.unmet.empty() && !view.problem.empty()) report.fault("named", view.problem);
  for (const auto& one : view.unmet) {
    report.warn("named", fmt::format("mesh_peers names {}, which doesn't admit this node yet: {}",
                                     mesh::short_text(one.node), one.why));
  }
}

void examine_probes(Report& report, const NodeView& node, const Examination& found) {
  const auto probes = found.probes.find(node.id);
  if (probes == found.probes.end()) return;
  std::vector<std::string> reached, failed;
  std::optional<Millis> clock;
  for (const auto& [address, result] : probes->second) {
    if (!result) {
      failed.push_back(fmt::format("{}: {}", address, result.error().message));
      continue;
    }
    clock = result->clock_ahead;
    if (result->problem.empty()) {
      reached.push_back(address);
    } else {
      failed.push_back(fmt::format("{}: {}", address, result->problem));
    }
  }
  if (!reached.empty()) {
    report.fine("reached", fmt::format("it can reach this node at {}", fmt::join(reached, ", ")));
  } else if (!failed.empty()) {
    report.warn("reached",
                fmt::format("it can't dial this node ({}), so this node dials the link and opens the streams: "
                            "open the port of mesh_listen for TCP",
                            fmt::join(failed, "; ")));
  }
  if (clock && std::abs(clock->count()) > kOddClock.count()) {
    report.warn("clock", fmt::format("its clock is {} s {} ours: in the mesh this only affects the expiry of join "
                                     "tokens",
                                     std::abs(clock->count()) / 1000, clock->count() > 0 ? "ahead of" : "behind"));
  } else if (clock) {
    report.fine("clock", "its clock agrees with ours");
  }
}

void examine_versions(Report& report, const NodeView& node, const NodeOptions& options) {
  if (!node.node_state) {
    report.warn("announcement", "no announcement of this node yet");
    return;
  }
  if (node.node_state->version == options.version && node.node_state->engine == options.llama_version) {
    report.fine("version", fmt::format("corral {}, llama.cpp {}, the same as here", node.node_state->version,
                                       node.node_state->engine));
  } else {
    report.warn("version",
                fmt::format("it runs corral {} with llama.cpp {}, this node {} with {}: requests work in "
                            "both directions",
                            node.node_state->version, node.node_state->engine, options.version, options.llama_version));
  }
}

void examine_node(Report& report, const NodeView& node, const NodeOptions& options, const Examination& found) {
  report.about(node.name);
  if (node.reach == mesh::Reach::linked) {
    const auto rtt = node.round_trip.value_or(Millis(0));
    auto text = fmt::format("the link is up, round trip {} ms", rtt.count());
    rtt > kSlow ? report.warn("link", text + ": slow for a local network") : report.fine("link", std::move(text));
  } else {
    std::vector<std::string> addresses;
    for (const auto& address : node.addresses) addresses.push_back(mesh::to_text(address));
    const auto where = addresses.empty() ? std::string("no address is known")
                                         : fmt::format("dialled at {}", fmt::join(addresses, ", "));
    report.fault("link", fmt::format("no link ({}){}{}", where, node.last_end.empty() ? "" : ": ", node.last_end));
  }
  examine_probes(report, node, found);
  examine_versions(report, node, options);
}

}  // namespace

std::string_view name_of(CheckStatus verdict) {
  switch (verdict) {
    case CheckStatus::fine:
      return "ok";
    case CheckStatus::warning:
      return "warning";
    case CheckStatus::broken:
      return "failed";
  }
  return "";
}

bool may_work(const proc::Sandboxed& sandbox) {
  using proc::Fence;
  return sandbox.has(Fence::namespaces) && (sandbox.has(Fence::root) || sandbox.has(Fence::landlock));
}

std::vector<Finding> examine(const MeshView& view, const NodeOptions& options, const Examination& found) {
  Report report;
  if (view.phase == MeshPhase::none || view.phase == MeshPhase::joining) {
    report.warn("membership",
                options.peers.empty()
                    ? "this node is in no mesh: corral mesh create founds one, corral mesh join TOKEN joins one"
                    : "this node is in no mesh yet and looks for the nodes in mesh_peers: they must name this node, "
                      "too, and the node with the lowest identifier must have run once");
    examine_unmet(report, view);
    return report.take();
  }
  if (view.phase == MeshPhase::broken) {
    report.fault("membership", view.problem);
    return report.take();
  }
  examine_self(report, view, options, found);
  examine_named(report, found);
  for (const auto& node : view.nodes)
    if (node.reach != mesh::Reach::own) examine_node(report, node, options, found);
  return report.take();
}

std::string identity_problem(const NodeOptions& options) {
  const auto file = options.identity.empty() ? options.folder / mesh::kIdentityFile : options.identity;
  struct stat found{};
  if (::stat(file.c_str(), &found) != 0)
    return fmt::format("can't read '{}': without it this node gets a new identity at its next start", file.native());
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0 && options.identity.empty())
    return fmt::format("other users can read '{}': run `chmod 600`", file.native());
  return {};
}

}  // namespace corral::fleet
