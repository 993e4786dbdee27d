#include "cli/server/log_wire.h"

#include <algorithm>

#include "cli/server/answer_fields.h"

namespace corral::cli {

Result<LogPiece> parse_log_lines(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    return LogPiece{.process = text_of(value, "process"),
                    .lines = names_of(value, "lines"),
                    .missed = integer_of(value, "missed").value_or(0)};
  });
}

std::string log_object(std::string_view text) {
  json::Array lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return json::serialize(json::Object{{"lines", std::move(lines)}});
}

}  // namespace corral::cli
