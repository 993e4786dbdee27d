#include "proc/errors.h"

#include "base/error_table.h"

namespace corral::proc {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"program_not_found", ErrorKind::unprocessable}, {"permission_denied", ErrorKind::unprocessable},
      {"bad_working_directory", ErrorKind::internal},  {"spawn_failed", ErrorKind::internal},
      {"kernel_too_old", ErrorKind::unprocessable},    {"channel_closed", ErrorKind::upstream},
      {"line_too_long", ErrorKind::upstream},          {"sandbox_refused", ErrorKind::unprocessable},
  };
  static const TableCategory category("proc", kRows);
  return category;
}

}  // namespace corral::proc
