#include "cli/server/activity_wire.h"

#include "cli/server/answer_fields.h"

namespace corral::cli {

namespace {
constexpr std::size_t kNodeDigits = 12;  // enough to distinguish nodes, as in other output for people
}

Result<Activity> parse_activity(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    Activity activity{.next = integer_of(value, "next"), .lost = integer_of(value, "lost").value_or(0)};
    each(value, "activity", [&](const json::Value& row) {
      auto key = text_of(row, "key_name");
      if (key.empty()) key = text_of(row, "key");
      auto node = text_of(row, "node_name");
      if (node.empty()) node = text_of(row, "node").substr(0, kNodeDigits);
      activity.requests.push_back({.ended = integer_of(row, "ended").value_or(0),
                                   .model = text_of(row, "model"),
                                   .key = std::move(key),
                                   .dialect = text_of(row, "dialect"),
                                   .client = text_of(row, "client"),
                                   .status = integer_of(row, "status").value_or(0),
                                   .code = text_of(row, "code"),
                                   .node = std::move(node),
                                   .prompt_tokens = integer_of(row, "prompt_tokens"),
                                   .output_tokens = integer_of(row, "output_tokens"),
                                   .first_token_ms = integer_of(row, "first_token_ms"),
                                   .duration_ms = integer_of(row, "duration_ms")});
    });
    return activity;
  });
}

}  // namespace corral::cli
