#include "mesh/identity/errors.h"

#include "base/error_table.h"

namespace corral::mesh {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"mesh_malformed", ErrorKind::invalid_request},
      {"mesh_unsupported_version", ErrorKind::invalid_request},
      {"mesh_too_large", ErrorKind::too_large},
      {"mesh_too_many_members", ErrorKind::conflict},
      {"mesh_forged", ErrorKind::forbidden},
      {"mesh_foreign", ErrorKind::forbidden},
      {"mesh_not_a_member", ErrorKind::forbidden},
      {"mesh_revoked", ErrorKind::forbidden},
      {"mesh_unusable_identity", ErrorKind::unprocessable},
      {"mesh_token_malformed", ErrorKind::invalid_request},
      {"mesh_token_mistyped", ErrorKind::invalid_request},
      {"mesh_token_unknown", ErrorKind::forbidden},
      {"mesh_token_expired", ErrorKind::forbidden},
      {"mesh_token_used", ErrorKind::forbidden},
      {"mesh_token_withdrawn", ErrorKind::forbidden},
      {"mesh_wrong_proof", ErrorKind::forbidden},
      {"mesh_bad_address", ErrorKind::invalid_request},
      {"mesh_unreachable", ErrorKind::unavailable},
      {"mesh_timed_out", ErrorKind::timeout},
      {"mesh_wrong_peer", ErrorKind::upstream},
      {"mesh_handshake_failed", ErrorKind::upstream},
      {"mesh_link_closed", ErrorKind::upstream},
      {"mesh_overloaded", ErrorKind::unavailable},
      {"mesh_not_offered", ErrorKind::not_found},
      {"mesh_disk_full", ErrorKind::unavailable},
      {"mesh_copy_damaged", ErrorKind::upstream},
      {"mesh_name_taken", ErrorKind::conflict},
  };
  static const TableCategory category("mesh", kRows);
  return category;
}

}  // namespace corral::mesh
