#include "json/errors.h"

#include "base/error_table.h"

namespace corral::json {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {{"invalid_json", ErrorKind::invalid_request},
                                       {"invalid_number", ErrorKind::invalid_request}};
  static const TableCategory category("json", kRows);
  return category;
}

}  // namespace corral::json
