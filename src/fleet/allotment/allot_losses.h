// Models that this node held for the mesh and that ended without its order (by idleness, for the owner, by a crash),
// and groups of any node that ended by a loss. Compares consecutive states, and marks the consequences for this node
// (allot_marks.h). A plain value with a clock from outside; belongs to the allotter's loop.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/named.h"
#include "fleet/allotment/allot_marks.h"
#include "fleet/groups/group_control.h"
#include "mesh/catalog/hashed_since.h"

namespace corral::fleet {

// A model that this node lends, by its own knowledge.
struct LentModel {
  ModelName name;
  Millis idle{0};      // since its last request
  bool ready = false;  // otherwise it is loading or stopping
};

class AllotLosses {
 public:
  static constexpr Millis kRemembered{30'000};  // a lost group is planned anew without a pause for this long
  static constexpr Millis kIdleSlack{5'000};    // between the last check of idleness and the end of an idle model

  // The marks outlive it.
  AllotLosses(const mesh::NodeId& own, AllotMarks& marks) : own_(own), marks_(marks) {}

  // Each compares one kind of state. True: the marks have changed.
  bool look_at_models(const mesh::Catalog& catalog, const std::vector<LentModel>& lent, Millis idle_unload,
                      MonoTime now);
  bool look_at_hosted(const GroupControl& control, Millis idle_unload, MonoTime now);
  // `lost`: nodes that count as ended; sorted.
  void look_at_groups(const mesh::Catalog& catalog, mesh::HashedSince& hashed, std::span<const mesh::NodeId> lost,
                      MonoTime now);
  // A model keeps its entries when it gets its hash.
  void follow_hashes(mesh::HashedSince& hashed);

  // Actions of this node are no losses.
  void loaded(const mesh::ContentKey& model) { given_back_.erase(model); }
  void given_back(const mesh::ContentKey& model) { given_back_.insert(model); }
  void hosted(const mesh::ContentKey& model);
  void ended(const mesh::ContentKey& model) { ended_.insert(model); }
  void ordered(const mesh::ContentKey& model) { ended_.erase(model); }

  // Last use of a model that this node lends.
  std::optional<MonoTime> last_use_of_lent(const mesh::ContentKey& model) const;
  // A group served the model shortly before, and ended by a loss.
  bool is_lost(const mesh::ContentKey& model) const { return lost_.contains(model); }

 private:
  // A group here, in the last state.
  struct Group {
    bool running = false;
    MonoTime used{};
  };

  bool look_at_owners(const mesh::Catalog& catalog, const std::set<mesh::ContentKey>& moving, MonoTime now);
  void rest_or_decline(const mesh::ContentKey& model, MonoTime used, Millis idle_unload, MonoTime now);

  const mesh::NodeId own_;
  AllotMarks& marks_;
  std::map<mesh::ContentKey, MonoTime> owners_;     // local models of the owner, and their last use
  std::map<mesh::ContentKey, MonoTime> lent_;       // lent models that were ready in the last state, and their last use
  std::set<mesh::ContentKey> given_back_;           // unloaded here; may still drain
  std::map<mesh::ContentKey, Group> groups_;        // hosted here
  std::set<mesh::ContentKey> ended_;                // groups that this node ended
  std::map<mesh::ContentKey, mesh::NodeId> stood_;  // groups of all nodes, and their hosts
  std::map<mesh::ContentKey, MonoTime> lost_;       // groups that no longer serve, and since when
};

}  // namespace corral::fleet
