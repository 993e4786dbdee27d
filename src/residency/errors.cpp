#include "residency/errors.h"

#include <fmt/format.h>

#include "base/error_table.h"

namespace corral::residency {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"slots_pinned_error", ErrorKind::conflict},
      {"model_cooling_down", ErrorKind::unavailable},
      {"model_not_loaded", ErrorKind::not_found},
      {"model_load_error", ErrorKind::internal},  // load_crashed
      {"model_load_error", ErrorKind::internal},  // load_deadline
      {"shutting_down", ErrorKind::unavailable},
      {"invalid_max_loaded_models", ErrorKind::invalid_request},
      {"queue_full", ErrorKind::unavailable},
      {"insufficient_memory", ErrorKind::unprocessable},
      {"insufficient_memory", ErrorKind::unavailable},  // memory_in_use
      {"not_here", ErrorKind::unavailable},
      {"eviction_needed", ErrorKind::conflict},
  };
  static const TableCategory category("residency", kRows);
  return category;
}

Error shutting_down() { return {errc::shutting_down, "the server is shutting down"}; }

Error not_loaded(const ModelName& model) {
  return {errc::not_loaded, fmt::format("'{}' is not loaded", model.value()), "model"};
}

}  // namespace corral::residency
