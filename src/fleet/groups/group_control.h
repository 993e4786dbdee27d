// Interface for the allotter to the groups that this node hosts or works for: start, end and state. On the loop of the
// mesh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mesh/groups/group_host.h"

namespace corral::fleet {

// A split model that this node hosts, or tries to start.
struct HostedGroup {
  mesh::GroupPlan plan;
  mesh::GroupHost::State state = mesh::GroupHost::State::waiting;
  bool running = false;  // its engine serves
  std::string refusal;   // text: the node that refused the last attempt, and its reason; empty: no refusal
  std::optional<double> load_progress;  // while the engine loads, 0 to 1
  bool by_hand = false;                 // ordered by a user (`--split`)
  std::uint64_t idle_ms = 0;            // since its last request
};

// Memory of this node that another node uses for layers of a model.
struct SharedMemory {
  mesh::NodeId host;
  mesh::ContentKey model;
  std::string model_name;  // the host's name of the model
  std::uint64_t bytes = 0;
  bool reaping = false;  // its worker is being ended
};

class GroupControl {
 public:
  virtual ~GroupControl() = default;

  // Hosts the model by this plan. The same plan again changes nothing; see mesh::GroupHost::want().
  virtual bool want(mesh::GroupPlan plan, mesh::PlanCause cause, bool by_hand) = 0;
  // The model is no longer needed: ends its engine, then releases all grants.
  virtual void end(const mesh::ContentKey& model) = 0;
  virtual std::vector<HostedGroup> hosted() const = 0;
  // Nodes of a hosted plan that count as ended: a new plan is needed.
  virtual std::vector<mesh::NodeId> lost(const mesh::ContentKey& model) const = 0;
  // All nodes that count as ended, in any plan: waiting for their return is useless.
  virtual std::vector<mesh::NodeId> lost() const = 0;

  // This node's memory that another host uses; nullopt: none.
  virtual std::optional<SharedMemory> shared() const = 0;
  // Recalls the memory as an owner would: its host has some seconds to let requests end (mesh::Groups::recall). Other
  // hosts may get it afterwards.
  virtual void take_back() = 0;
  // This node's owner has recalled the memory, now or shortly before.
  virtual bool recalled() const = 0;
};

// Adds this node's hosted groups, and the use of its memory by hosts, to its node state. `idle_unload`: as of
// idle_steps().
void add_groups(const GroupControl& control, const mesh::NodeId& own, Millis idle_unload, mesh::NodeState& node_state);

}  // namespace corral::fleet
