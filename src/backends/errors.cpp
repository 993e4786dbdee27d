#include "backends/errors.h"

#include "base/error_table.h"

namespace corral::backends {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"model_load_error", ErrorKind::internal},         {"insufficient_memory", ErrorKind::unprocessable},
      {"insufficient_memory", ErrorKind::unprocessable}, {"model_load_error", ErrorKind::internal},
      {"model_file_not_found", ErrorKind::not_found},    {"backend_not_installed", ErrorKind::unprocessable},
      {"invalid_option", ErrorKind::invalid_request},    {"backend_died", ErrorKind::upstream},
      {"options_not_saved", ErrorKind::internal},        {"model_files_unreachable", ErrorKind::unavailable},
      {"model_load_error", ErrorKind::internal},
  };
  static const TableCategory category("backends", kRows);
  return category;
}

}  // namespace corral::backends
