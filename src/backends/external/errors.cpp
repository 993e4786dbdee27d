#include "backends/external/errors.h"

#include "base/error_table.h"

namespace corral::backends::external {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"bad_backend_file", ErrorKind::invalid_request},  {"endpoint_not_served", ErrorKind::invalid_request},
      {"backend_not_reachable", ErrorKind::unavailable}, {"backend_request_failed", ErrorKind::upstream},
      {"backend_timeout", ErrorKind::timeout},
  };
  static const TableCategory category("external", kRows);
  return category;
}

}  // namespace corral::backends::external
