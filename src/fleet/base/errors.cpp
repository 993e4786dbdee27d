#include "fleet/base/errors.h"

#include "base/error_table.h"

namespace corral::fleet {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"ambiguous_model", ErrorKind::conflict},     {"no_capacity", ErrorKind::unavailable},
      {"node_gone", ErrorKind::upstream},           {"node_busy", ErrorKind::unavailable},
      {"mesh_none", ErrorKind::conflict},           {"mesh_already_joined", ErrorKind::conflict},
      {"mesh_change_runs", ErrorKind::conflict},    {"mesh_node_not_found", ErrorKind::not_found},
      {"mesh_node_ambiguous", ErrorKind::conflict}, {"mesh_own_node", ErrorKind::invalid_request},
      {"shutting_down", ErrorKind::unavailable},    {"copy_failed", ErrorKind::upstream},
      {"copy_not_needed", ErrorKind::conflict},     {"node_out_of_reach", ErrorKind::unavailable},
      {"copy_files_refused", ErrorKind::upstream},  {"copy_not_inspected", ErrorKind::unprocessable},
      {"mesh_admin_off", ErrorKind::forbidden},     {"split_worker_refused", ErrorKind::unavailable},
      {"bad_split", ErrorKind::invalid_request},    {"mesh_lends_nothing", ErrorKind::conflict},
      {"split_failed", ErrorKind::unavailable},     {"mesh_assigned", ErrorKind::conflict},
  };
  static const TableCategory category("fleet", kRows);
  return category;
}

}  // namespace corral::fleet
