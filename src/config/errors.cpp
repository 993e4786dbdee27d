#include "config/errors.h"

#include "base/error_table.h"

namespace corral::config {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"invalid_setting", ErrorKind::invalid_request},
      {"unknown_setting", ErrorKind::invalid_request},
      {"malformed_config", ErrorKind::invalid_request},
      {"unreadable_config", ErrorKind::not_found},
      {"unsafe_bind", ErrorKind::forbidden},
      {"setting_fixed", ErrorKind::conflict},
      {"setting_not_saved", ErrorKind::internal},
      {"key_not_found", ErrorKind::not_found},
      {"admin_key_needed", ErrorKind::forbidden},
  };
  static const TableCategory category("config", kRows);
  return category;
}

}  // namespace corral::config
