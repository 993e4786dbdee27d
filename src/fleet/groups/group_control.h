// The groups that this node hosts or works for, as they are wanted, ended and shown: what the allotter needs of who
// runs them. On the loop of the mesh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mesh/groups/group_host.h"

namespace corral::fleet {

// A model that this node hosts over several nodes, or tries to.
struct HostedGroup {
  mesh::GroupPlan plan;
  mesh::GroupHost::State state = mesh::GroupHost::State::waiting;
  bool running = false;                 // its engine serves
  std::string refusal;                  // in words: who said no to the last try, and why; empty: nobody did
  std::optional<double> load_progress;  // while the engine loads, 0 to 1
  bool by_hand = false;                 // somebody has said so (`--split`)
  std::uint64_t idle_ms = 0;            // since its last request
};

// Memory of this node's that another node has for layers of a model.
struct SharedMemory {
  mesh::NodeId host;
  mesh::ContentKey model;
  std::string model_name;  // as the host calls it
  std::uint64_t bytes = 0;
  bool reaping = false;  // is being ended
};

class GroupControl {
 public:
  virtual ~GroupControl() = default;

  // This node is to host the model by this plan. The same plan again changes nothing; see mesh::GroupHost::want().
  virtual bool want(mesh::GroupPlan plan, mesh::PlanCause cause, bool by_hand) = 0;
  // Nobody wants the model any more: what runs ends, then all is given back.
  virtual void end(const mesh::ContentKey& model) = 0;
  virtual std::vector<HostedGroup> hosted() const = 0;
  // Nodes of a hosted plan that are gone for good: it has to be planned anew.
  virtual std::vector<mesh::NodeId> lost(const mesh::ContentKey& model) const = 0;
  // All nodes that are, whatever they had: nobody need wait for them to come back.
  virtual std::vector<mesh::NodeId> lost() const = 0;

  // What another host has of this node; nothing: nobody has anything.
  virtual std::optional<SharedMemory> shared() const = 0;
  // Takes it back as an owner would: its host has some seconds to let requests end (mesh::Groups::recall). Others may
  // have it afterwards.
  virtual void take_back() = 0;
  // This node's owner wants the memory back, or did so just now.
  virtual bool recalled() const = 0;
};

// Adds what a node says of the groups that it hosts, and of what others have of it.
void tell_groups(const GroupControl& desk, const mesh::NodeId& own, mesh::NodeState& statement);

}  // namespace corral::fleet
