#include "downloads/errors.h"

#include "base/error_table.h"

namespace corral::downloads {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"bad_model_source", ErrorKind::invalid_request},
      {"model_not_found", ErrorKind::not_found},
      {"revision_not_found", ErrorKind::not_found},
      {"model_file_not_found", ErrorKind::not_found},
      {"model_gated", ErrorKind::forbidden},
      {"hub_token_refused", ErrorKind::forbidden},
      {"offline", ErrorKind::unavailable},
      {"hub_unreachable", ErrorKind::unavailable},
      {"hub_failed", ErrorKind::upstream},
      {"hub_malformed", ErrorKind::upstream},
      {"hub_rate_limited", ErrorKind::rate_limited},
      {"disk_full", ErrorKind::unprocessable},
      {"disk_failed", ErrorKind::internal},
      {"wrong_content", ErrorKind::upstream},
      {"download_in_use", ErrorKind::conflict},
  };
  static const TableCategory category("downloads", kRows);
  return category;
}

}  // namespace corral::downloads
