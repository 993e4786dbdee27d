#include "router/base/errors.h"

#include "base/error_table.h"

namespace corral::router {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"backend_not_installed", ErrorKind::unprocessable},
      {"backend_died", ErrorKind::upstream},
      {"backend_unreachable", ErrorKind::upstream},
      {"shutting_down", ErrorKind::unavailable},
      {"cancelled", ErrorKind::cancelled},
      {"internal_error", ErrorKind::internal},
      {"request_ended_backend", ErrorKind::unavailable},
      {"insufficient_scope", ErrorKind::forbidden},
      {"not_begun", ErrorKind::unavailable},
  };
  static const TableCategory category("router", kRows);
  return category;
}

}  // namespace corral::router
