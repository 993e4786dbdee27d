#include "http/errors.h"

#include "base/error_table.h"

namespace corral::http {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"malformed_http", ErrorKind::invalid_request},
      {"header_too_large", ErrorKind::too_large},
      {"body_too_large", ErrorKind::too_large},
      {"body_truncated", ErrorKind::invalid_request},
      {"peer_timed_out", ErrorKind::timeout},
      {"peer_closed", ErrorKind::upstream},
      {"connect_failed", ErrorKind::upstream},
      {"address_in_use", ErrorKind::conflict},
      {"bad_address", ErrorKind::invalid_request},
      {"unknown_transfer_coding", ErrorKind::invalid_request},
      {"request_bodies_full", ErrorKind::unavailable},
      {"uploads_full", ErrorKind::unavailable},
      {"upload_not_kept", ErrorKind::internal},
      {"unsupported_content_encoding", ErrorKind::invalid_request},
      {"invalid_content_encoding", ErrorKind::invalid_request},
  };
  static const TableCategory category("http", kRows);
  return category;
}

}  // namespace corral::http
