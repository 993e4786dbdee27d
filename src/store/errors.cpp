#include "store/errors.h"

#include "base/error_table.h"

namespace corral::store {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"store_unavailable", ErrorKind::unavailable},
      {"store_busy", ErrorKind::unavailable},
      {"not_found", ErrorKind::not_found},
      {"conversation_too_long", ErrorKind::invalid_request},
      {"conversation_too_large", ErrorKind::invalid_request},
  };
  static const TableCategory category("store", kRows);
  return category;
}

}  // namespace corral::store
