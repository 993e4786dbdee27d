// The steps of allocate(). Only for it.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "mesh/allocation/allocation.h"

namespace corral::mesh {

class Allocator {
 public:
  Allocator(const Situation& situation, const AllocationRules& rules);
  Allocation run();

 private:
  struct Model {
    const AllocationModel* facts = nullptr;
    std::size_t servers = 0;  // nodes, or groups of nodes, that serve it or will
    bool promised = false;    // somebody gets it, or waits to
    bool split = false;       // one node can't hold it, or mustn't
    bool grouped = false;     // it stands as a split
    bool in_vain = false;     // it is asked for, and nobody serves it
    bool rests = false;       // is given back for idleness, and nobody has asked for it since
    std::optional<SplitShortage> shortage;
  };
  struct Node {
    const AllocationNode* facts = nullptr;
    const HeldModel* held = nullptr;                                       // of the mesh's
    enum class State { free, leaving, held, closed } state = State::free;  // leaving: gives back what it has
    bool has_file(const ContentKey& model) const { return on_disk.contains(model); }
    std::set<ContentKey> on_disk;
    std::optional<ContentKey> only;  // it was told to have this one
    bool taken = false;              // it got something
  };

  // allocation.cpp: what stands, and 2 to 5.
  void keep(Node& node);
  void let_go(Node& node, UnloadCause cause, std::string why, const Model* for_model = nullptr);
  void obey(Node& node);
  void give(const std::vector<Node*>& joiners);
  void give_unserved(Node& node, bool fetched);
  void give_capacity(Node& node, bool fetched);
  void give_biggest(Node& node);
  void assign(Node& node, Model& model, Part part, Priority priority, std::string why, bool waits = false);

  // allocation_room.cpp: 1, and memory that is wanted elsewhere.
  void find_split_models();
  void complete_splits();
  bool complete(Model& model);
  std::vector<Node*> may_join(const Model& model, int willing);
  void make_room();
  bool is_lesser(const Node& node, const Model& model) const;
  bool is_surplus(const Model& model) const;
  void explain();
  Unserved lack_of(const Model& model) const;

  // allocation_facts.cpp: questions.
  std::uint64_t capacity(const Node& node, const Model& model) const;
  bool fits(const Node& node, const Model& model) const;
  std::optional<Fetch> way_to(const Node& node, const Model& model) const;
  bool may_have(const Node& node, const Model& model) const;
  bool is_hot(const Model& model, std::size_t servers) const;
  bool is_open(const Model& model) const;
  Model& model_of(const ContentKey& content) { return models_[places_.at(content)]; }

  const AllocationRules& rules_;
  const LinkTable& links_;
  std::vector<Node> nodes_;    // sorted by id
  std::vector<Model> models_;  // what is asked for in vain first, most of all; then larger, then alphabetical
  std::map<ContentKey, std::size_t> places_;
  std::uint64_t roomiest_ = 0;
  Allocation result_;
};

// The most that a node could give one model that wants this device.
std::uint64_t most_room(const AllocationNode& node, bool gpu);

}  // namespace corral::mesh
