#include "fleet/copy_rules.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "fleet/errors.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {

namespace {

struct Refusal {
  std::error_code cause;
  std::string_view text;
};

}  // namespace

std::string_view refusal_of(std::error_code cause) {
  static const std::array<Refusal, 9> all = {{
      {make_error_code(errc::not_admin_here), "it takes no copy of this model for requests"},
      {make_error_code(errc::no_mesh), "it keeps no copies"},
      {make_error_code(errc::copy_not_needed), "the model was copied there before"},
      {make_error_code(errc::nowhere), "the model doesn't fit into its memory"},
      {make_error_code(mesh::errc::not_offered), "it knows no node that would give it the model"},
      {make_error_code(mesh::errc::too_many), "other copies come first"},
      {make_error_code(mesh::errc::disk_full), "its disk has no room for it"},
      {make_error_code(mesh::errc::unreachable), "it can't be reached now"},
      {make_error_code(mesh::errc::timed_out), "it gives no answer"},
  }};
  const auto found = std::ranges::find(all, cause, &Refusal::cause);
  return found != all.end() ? found->text : "the copy failed there: corral mesh copies says there why";
}

std::string words_of_no_inspector(std::string_view why) {
  return fmt::format(
      "no model can be copied to this node, since nobody can look at files of other nodes here: {}. The kernel must "
      "let a "
      "process lock itself in (seccomp; a container may forbid that): corral mesh doctor tells when it does. Or bring "
      "the "
      "files into a folder of models by hand",
      why);
}

CopyView told_to(const mesh::NodeId& asker, CopyView view, bool admin) {
  if (!admin && view.orderer != asker) view.problem.clear();
  return view;
}

bool fits_for_request(mesh::KnownNode self, const mesh::MeshModel& model, bool own) {
  if (model.facts == nullptr) return false;
  if (!own) self.reach = mesh::Reach::linked;
  return mesh::memory_need(*model.facts) <= mesh::room_for(self, *model.facts).most;
}

}  // namespace corral::fleet
