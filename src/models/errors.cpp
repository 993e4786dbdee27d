#include "models/errors.h"

#include "base/error_table.h"

namespace corral::models {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"model_file_not_found", ErrorKind::not_found},
      {"model_file_unreadable", ErrorKind::unprocessable},
      {"not_gguf", ErrorKind::unprocessable},
      {"model_file_truncated", ErrorKind::unprocessable},
      {"unsupported_gguf_version", ErrorKind::unprocessable},
      {"malformed_gguf", ErrorKind::unprocessable},
      {"model_file_not_found", ErrorKind::not_found},
      {"not_a_model", ErrorKind::invalid_request},
      {"scan_limit_reached", ErrorKind::unprocessable},
      {"model_not_found", ErrorKind::not_found},
      {"name_in_use", ErrorKind::conflict},
  };
  static const TableCategory category("models", kRows);
  return category;
}

}  // namespace corral::models
