// What went though nobody here gave it back: models that this node had for the mesh (for idleness, for its owner, by a
// crash), and groups of any node that a loss has ended. Compared from look to look; what follows from it for this node
// is marked (allot_marks.h). A plain value with a clock from outside; belongs to the allotter's loop.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "fleet/allotment/allot_marks.h"
#include "fleet/allotment/allotter.h"
#include "fleet/groups/group_control.h"
#include "mesh/catalog/hashed_since.h"

namespace corral::fleet {

class AllotLosses {
 public:
  static constexpr Millis kRemembered{30'000};  // so long a group that was lost is planned anew without a pause
  static constexpr Millis kIdleSlack{5'000};    // between a look at what is idle and its end for that

  // The marks outlive it.
  AllotLosses(const mesh::NodeId& own, AllotMarks& marks) : own_(own), marks_(marks) {}

  // A look at each. True: the marks are different.
  bool look_at_models(const mesh::Catalog& catalog, const std::vector<LentModel>& lent, Millis idle_unload,
                      MonoTime now);
  bool look_at_hosted(const GroupControl& groups, Millis idle_unload, MonoTime now);
  // `lost`: nodes that are gone for good; sorted.
  void look_at_groups(const mesh::Catalog& catalog, mesh::HashedSince& hashed, std::span<const mesh::NodeId> lost,
                      MonoTime now);
  // A model that gets its hash is no other one.
  void follow_hashes(mesh::HashedSince& hashed);

  // What is done here is no loss.
  void loaded(const mesh::ContentKey& model) { given_back_.erase(model); }
  void given_back(const mesh::ContentKey& model) { given_back_.insert(model); }
  void hosted(const mesh::ContentKey& model);
  void ended(const mesh::ContentKey& model) { ended_.insert(model); }
  void ordered(const mesh::ContentKey& model) { ended_.erase(model); }

  // A model that this node has lent, and when it was used last.
  std::optional<MonoTime> last_use_of_lent(const mesh::ContentKey& model) const;
  // It stood over several nodes just now, and a loss has ended that.
  bool is_lost(const mesh::ContentKey& model) const { return lost_.contains(model); }

 private:
  // A group here, as it was at the last look.
  struct Group {
    bool running = false;
    MonoTime used{};
  };

  bool look_at_owners(const mesh::Catalog& catalog, const std::set<mesh::ContentKey>& moving, MonoTime now);
  void rest_or_decline(const mesh::ContentKey& model, MonoTime used, Millis idle_unload, MonoTime now);

  const mesh::NodeId own_;
  AllotMarks& marks_;
  std::map<mesh::ContentKey, MonoTime> owners_;     // models of the owner's, and when they were used last
  std::map<mesh::ContentKey, MonoTime> lent_;       // that were ready at the last look: the same
  std::set<mesh::ContentKey> given_back_;           // and may still be draining
  std::map<mesh::ContentKey, Group> groups_;        // here
  std::set<mesh::ContentKey> ended_;                // that were ended here
  std::map<mesh::ContentKey, mesh::NodeId> stood_;  // groups of all nodes: their hosts
  std::map<mesh::ContentKey, MonoTime> lost_;       // of those: which don't stand any more, and since when
};

}  // namespace corral::fleet
