#include "engine/errors.h"

#include "base/error_table.h"

namespace corral::engine {

const std::error_category& error_category() {
  // In the order of errc.
  static constexpr ErrorRow kRows[] = {
      {"model_not_loaded", ErrorKind::not_found},
      {"model_file_not_found", ErrorKind::not_found},
      {"model_load_error", ErrorKind::internal},
      {"load_cancelled", ErrorKind::cancelled},
      {"insufficient_memory", ErrorKind::unprocessable},
      {"insufficient_memory", ErrorKind::unprocessable},
      {"version_mismatch", ErrorKind::internal},
      {"session_not_found", ErrorKind::not_found},
      {"session_busy", ErrorKind::conflict},
      {"tokenize_failed", ErrorKind::invalid_request},
      {"context_length_exceeded", ErrorKind::invalid_request},
      {"input_too_long", ErrorKind::invalid_request},
      {"invalid_argument", ErrorKind::invalid_request},
      {"invalid_worker_count", ErrorKind::invalid_request},
      {"queue_full", ErrorKind::unavailable},
      {"worker_shutdown", ErrorKind::unavailable},
      {"unsupported", ErrorKind::invalid_request},
      {"decode_failed", ErrorKind::internal},
  };
  static const TableCategory category("engine", kRows);
  return category;
}

}  // namespace corral::engine
