#include "cli/server/request_wire.h"

#include "cli/server/answer_fields.h"

namespace corral::cli {

namespace {
constexpr std::size_t kShownNodeDigits = 12;  // as in other output for people
}

Result<std::vector<ActiveRequest>> parse_requests(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    std::vector<ActiveRequest> requests;
    each(value, "requests", [&](const json::Value& row) {
      requests.push_back({.id = text_of(row, "id"),
                          .model = text_of(row, "model"),
                          .key = text_of(row, "key"),
                          .client = text_of(row, "client"),
                          .status = text_of(row, "status"),
                          .node = text_of(row, "node").substr(0, kShownNodeDigits),
                          .is_load = text_of(row, "kind") == "load",
                          .age_ms = integer_of(row, "age_ms").value_or(0),
                          .output_tokens = integer_of(row, "output_tokens")});
    });
    return requests;
  });
}

}  // namespace corral::cli
