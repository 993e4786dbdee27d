#include "api/errors.h"

#include "base/error_table.h"

namespace corral::api {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"invalid_api_key", ErrorKind::unauthorized}, {"forbidden_origin", ErrorKind::forbidden},
      {"forbidden_host", ErrorKind::forbidden},     {"invalid_value", ErrorKind::invalid_request},
      {"request_not_found", ErrorKind::not_found},  {"too_many_readers", ErrorKind::unavailable},
      {"insufficient_scope", ErrorKind::forbidden}, {"unsupported_media_type", ErrorKind::invalid_request},
  };
  static const TableCategory category("api", kRows);
  return category;
}

}  // namespace corral::api
