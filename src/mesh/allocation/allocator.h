// The steps of allocate(). Only for it.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "mesh/allocation/allocation.h"

namespace corral::mesh {

class Allocator {
 public:
  Allocator(const AllocationInput& situation, const AllocationRules& rules);
  Allocation run();

 private:
  struct Model {
    const AllocationModel* facts = nullptr;
    std::size_t servers = 0;  // nodes, or groups of nodes, that serve it or will
    bool promised = false;    // a node gets it, or waits for it
    bool split = false;       // one node can't hold it, or mustn't
    bool named = false;       // an order lists its nodes, and all are there
    bool grouped = false;     // nodes hold it as a split
    bool in_vain = false;     // it has requests, and no node serves it
    bool rests = false;       // unloaded for idleness, and no request since
    std::optional<SplitShortage> shortage;
  };
  struct Node {
    const AllocationNode* facts = nullptr;
    const HeldModel* held = nullptr;                                       // of the mesh's
    enum class State { free, leaving, held, closed } state = State::free;  // leaving: unloads its model
    bool has_file(const ContentKey& model) const { return on_disk.contains(model); }
    std::set<ContentKey> on_disk;
    std::optional<ContentKey> only;  // an order assigns this model
    bool taken = false;              // this allocation gave it a model
  };

  // allocation.cpp: models that nodes have, and priorities 2 to 5.
  void keep(Node& node);
  bool is_unload_ordered(const Node& node) const;
  void let_go(Node& node, UnloadCause cause, std::string why, const Model* for_model = nullptr);
  void obey(Node& node);
  void find_roomiest();
  void give_what_is_missed();
  void give(const std::vector<Node*>& joiners);
  void give_unserved(Node& node, bool fetched);
  void give_capacity(Node& node, bool fetched);
  void give_biggest(Node& node);
  void assign(Node& node, Model& model, Part part, Priority priority, std::string why, bool waits = false);
  static void note_fetch(Assignment& line, Fetch fetch);

  // Its owner's, too.
  static bool has(const Node& node, const Model& model);

  // allocation_room.cpp: priority 1, and memory that another model needs.
  void find_split_models();
  bool can_be_named(const Model& model) const;
  bool stands_elsewhere(const Model& model) const;
  void complete_splits(bool named);  // true: ordered splits only; false: all others
  bool complete(Model& model);
  bool form(Model& model, const std::vector<Node*>& joining);
  std::optional<SplitAnswer> plan_over(const Model& model, const std::vector<const Node*>& nodes) const;
  std::vector<Node*> may_join(const Model& model, int willing);
  bool waits_for_split(const Node& node, const Model& model) const;
  static bool has_alone(const Node& node, const Model& model);
  std::string why_not(const NodeId& id, const Model& model) const;
  void make_room();
  bool is_lesser(const Node& node, const Model& model) const;
  bool is_surplus(const Model& model) const;
  void explain();
  Unserved unserved_of(const Model& model) const;
  std::string why_unsplit(const Model& model) const;
  std::string why_elsewhere(const Model& model) const;

  // allocation_facts.cpp: predicates.
  std::uint64_t capacity(const Node& node, const Model& model) const;
  bool fits(const Node& node, const Model& model) const;
  std::optional<Fetch> way_to(const Node& node, const Model& model) const;
  bool may_have(const Node& node, const Model& model) const;
  bool is_named_for(const Node& node, const Model& model) const;
  bool is_hot(const Model& model, std::size_t servers) const;
  bool is_open(const Model& model) const;
  Model& model_of(const ContentKey& content) { return models_[places_.at(content)]; }

  const AllocationInput& situation_;
  const AllocationRules& rules_;
  const LinkTable& links_;
  const std::map<NodeId, std::string>& away_;
  std::vector<Node> nodes_;    // sorted by id
  std::vector<Model> models_;  // in_vain first, most requests first; then larger, then alphabetical
  std::map<ContentKey, std::size_t> places_;
  std::uint64_t roomiest_ = 0;
  Allocation result_;
};

inline std::uint64_t max_headroom(const AllocationNode& node) {
  return std::max(max_headroom(node, true), max_headroom(node, false));
}
// Bounds the time for a mesh with many models that are too large for it.
inline constexpr std::size_t kMaxSplitTries = 64;

}  // namespace corral::mesh
