#include "fleet/errors.h"

#include "base/error_table.h"

namespace corral::fleet {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"ambiguous_model", ErrorKind::conflict},
      {"no_capacity", ErrorKind::unavailable},
      {"node_gone", ErrorKind::upstream},
      {"node_busy", ErrorKind::unavailable},
  };
  static const TableCategory category("fleet", kRows);
  return category;
}

}  // namespace corral::fleet
