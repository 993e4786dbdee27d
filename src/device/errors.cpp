#include "device/errors.h"

#include "base/error_table.h"

namespace corral::device {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"device_absent", ErrorKind::not_found},
      {"device_failed", ErrorKind::upstream},
      {"device_malformed", ErrorKind::upstream},
      {"device_hangs", ErrorKind::timeout},
  };
  static const TableCategory category("device", kRows);
  return category;
}

}  // namespace corral::device
