#include "fleet/copies/copy_rules.h"

#include <fmt/format.h>

namespace corral::fleet {

std::string words_of_no_inspector(std::string_view why) {
  return fmt::format(
      "can't copy models to this node, since files of other nodes can't be inspected here: {}. The kernel must allow a "
      "process to sandbox itself (seccomp; a container may forbid it): see `corral mesh doctor`. Or put the files into "
      "a folder of models by hand",
      why);
}

bool fits_lent_memory(mesh::KnownNode self, const mesh::MeshModel& model) {
  if (model.facts == nullptr) return false;
  self.reach = mesh::Reach::linked;  // a node's own loads aren't limited by its lent memory
  return mesh::memory_need(*model.facts) <= mesh::headroom_for(self, *model.facts).total;
}

}  // namespace corral::fleet
