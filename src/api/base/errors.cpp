#include "api/base/errors.h"

#include "base/error_table.h"

namespace corral::api {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"invalid_api_key", ErrorKind::unauthorized},
      {"forbidden_origin", ErrorKind::forbidden},
      {"forbidden_host", ErrorKind::forbidden},
      {"invalid_value", ErrorKind::invalid_request},
      {"request_not_found", ErrorKind::not_found},
      {"too_many_readers", ErrorKind::unavailable},
      {"insufficient_scope", ErrorKind::forbidden},
      {"unsupported_media_type", ErrorKind::invalid_request},
      {"too_many_requests", ErrorKind::rate_limited},
      {"verification_runs", ErrorKind::conflict},
      {"download_not_found", ErrorKind::not_found},
      {"download_paused", ErrorKind::conflict},
      {"download_cancelled", ErrorKind::conflict},
      {"unknown_model", ErrorKind::unprocessable},
      {"model_busy", ErrorKind::conflict},
      {"file_not_ours", ErrorKind::conflict},
      {"name_taken", ErrorKind::conflict},
      {"alias_not_found", ErrorKind::not_found},
      {"stream_not_found", ErrorKind::not_found},
      {"stream_not_begun", ErrorKind::unavailable},
      {"stream_lost", ErrorKind::invalid_request},
      {"stream_stopped", ErrorKind::invalid_request},
      {"previous_response_not_found", ErrorKind::invalid_request},
      {"response_not_in_background", ErrorKind::invalid_request},
      {"response_events_gone", ErrorKind::invalid_request},
      {"nothing_kept", ErrorKind::invalid_request},
      {"server_stopping", ErrorKind::unavailable},
      {"media_not_supported", ErrorKind::invalid_request},
      {"picture_not_fetched", ErrorKind::invalid_request},
      {"image_not_found", ErrorKind::not_found},
  };
  static const TableCategory category("api", kRows);
  return category;
}

}  // namespace corral::api
