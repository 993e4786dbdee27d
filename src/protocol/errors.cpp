#include "protocol/errors.h"

#include "base/error_table.h"

namespace corral::protocol {

const std::error_category& error_category() {
  static constexpr ErrorRow kRows[] = {
      {"missing_required_parameter", ErrorKind::invalid_request},
      {"invalid_type", ErrorKind::invalid_request},
      {"invalid_value", ErrorKind::invalid_request},
      {"unsupported_value", ErrorKind::invalid_request},
      {"context_length_exceeded", ErrorKind::invalid_request},
      {"wrong_model_type", ErrorKind::invalid_request},
      {"unknown_path", ErrorKind::not_found},
      {"method_not_allowed", ErrorKind::invalid_request},
      {"internal_error", ErrorKind::internal},
      {"invalid_request", ErrorKind::invalid_request},
      {"unauthorized", ErrorKind::unauthorized},
      {"forbidden", ErrorKind::forbidden},
      {"not_found", ErrorKind::not_found},
      {"conflict", ErrorKind::conflict},
      {"too_large", ErrorKind::too_large},
      {"unprocessable", ErrorKind::unprocessable},
      {"rate_limited", ErrorKind::rate_limited},
      {"unavailable", ErrorKind::unavailable},
      {"upstream_failed", ErrorKind::upstream},
      {"timeout", ErrorKind::timeout},
      {"cancelled", ErrorKind::cancelled},
  };
  static const TableCategory category("protocol", kRows);
  return category;
}

Error context_exceeded(ContextNumbers numbers, std::string message, std::string param) {
  Error error(make_error_code(errc::context_length_exceeded), std::move(message), std::move(param));
  error.facts = numbers;
  return error;
}

}  // namespace corral::protocol
