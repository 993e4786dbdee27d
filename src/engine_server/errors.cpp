#include "engine_server/errors.h"

#include "base/error_table.h"

namespace corral::engine_server {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"invalid_chat_template", ErrorKind::unprocessable},  {"chat_template_error", ErrorKind::invalid_request},
      {"unreadable_answer", ErrorKind::internal},           {"media_not_supported", ErrorKind::invalid_request},
      {"infill_not_supported", ErrorKind::invalid_request},
  };
  static const TableCategory category("engine_server", kRows);
  return category;
}

}  // namespace corral::engine_server
