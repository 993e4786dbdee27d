#include "fleet/copies/copy_rules.h"

#include <fmt/format.h>

namespace corral::fleet {

std::string words_of_no_inspector(std::string_view why) {
  return fmt::format(
      "no model can be copied to this node, since nobody can look at files of other nodes here: {}. The kernel must "
      "let a "
      "process lock itself in (seccomp; a container may forbid that): corral mesh doctor tells when it does. Or bring "
      "the "
      "files into a folder of models by hand",
      why);
}

bool fits_lent_memory(mesh::KnownNode self, const mesh::MeshModel& model) {
  if (model.facts == nullptr) return false;
  self.reach = mesh::Reach::linked;  // a node's own loads aren't bounded by what it lends
  return mesh::memory_need(*model.facts) <= mesh::headroom_for(self, *model.facts).most;
}

}  // namespace corral::fleet
