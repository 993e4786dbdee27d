#include "dialects/own_names.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "json/value.h"

namespace corral::dialects {
namespace {

// Whether `name` is the row's field, or inside it.
bool is_of(std::string_view name, std::string_view row) {
  return name.starts_with(row) && (name.size() == row.size() || name[row.size()] == '.' || name[row.size()] == '[');
}

// The parts of "tools[2].function.parameters.x": the number, and ".parameters.x".
struct InTool {
  std::size_t place = 0;
  std::string_view rest;
};
std::optional<InTool> in_tool(std::string_view canonical) {
  constexpr std::string_view kBegin = "tools[", kEnd = "]", kFunction = ".function";
  if (!canonical.starts_with(kBegin)) return std::nullopt;
  InTool found{.rest = canonical.substr(kBegin.size())};
  const auto* const end = found.rest.data() + found.rest.size();
  const auto read = std::from_chars(found.rest.data(), end, found.place);
  if (read.ec != std::errc()) return std::nullopt;
  found.rest = std::string_view(read.ptr, end);
  if (!found.rest.starts_with(kEnd)) return std::nullopt;
  found.rest.remove_prefix(kEnd.size());
  if (is_of(found.rest, kFunction)) found.rest.remove_prefix(kFunction.size());
  return found;
}

// Renames all quoted names that are the field, or inside it.
void rename_quoted(std::string& message, std::string_view field, std::string_view code, const OwnNames& names) {
  const auto begin = std::string("'").append(field);
  for (std::size_t at = 0; (at = message.find(begin, at)) != std::string::npos;) {
    const auto end = message.find('\'', at + begin.size());
    if (end == std::string::npos) return;
    const auto quoted = std::string_view(message).substr(at + 1, end - at - 1);
    if (!is_of(quoted, field)) {
      at += begin.size();
      continue;
    }
    const auto own = names.of(quoted, code);
    message.replace(at + 1, quoted.size(), own);
    at += own.size() + 2;
  }
}

}  // namespace

std::string own_name(std::string_view canonical, std::span<const Renamed> rows, std::string_view code) {
  const auto row = std::ranges::find_if(rows, [&](const Renamed& known) {
    return is_of(canonical, known.canonical) && (known.code.empty() || known.code == code);
  });
  if (row == rows.end()) return std::string(canonical);
  std::string own(row->own);
  return row->inside ? own.append(canonical.substr(row->canonical.size())) : own;
}

std::string OwnNames::of(std::string_view canonical, std::string_view code) const {
  constexpr std::string_view kSchema = ".parameters";
  if (const auto tool = in_tool(canonical); tool && tool->place < tools.size()) {
    auto own = tools[tool->place];
    if (!is_of(tool->rest, kSchema)) return own.append(tool->rest);
    return own.append(".").append(schema).append(tool->rest.substr(kSchema.size()));
  }
  return field != nullptr ? field(canonical, code) : std::string(canonical);
}

void rename_field(Error& error, const OwnNames& names) {
  if (error.param.empty()) return;
  const auto code = error.code.message();
  rename_quoted(error.message, error.param, code, names);
  error.param = names.of(error.param, code);
}

http::Response in_own_names(http::Response answer, const OwnNames& names) {
  if (answer.head.status < 400 || answer.body.streaming()) return answer;
  auto parsed = json::parse(answer.body.text());
  if (!parsed || !parsed->is_object()) return answer;
  auto* const inner = parsed->as_object().if_contains("error");
  if (inner == nullptr || !inner->is_object()) return answer;
  const std::string field(json::text_or(*inner, "param", {}));
  if (field.empty()) return answer;
  const std::string code(json::text_or(*inner, "code", {}));
  std::string message(json::text_or(*inner, "message", {}));
  rename_quoted(message, field, code, names);
  auto& members = inner->as_object();
  members["message"] = message;
  members["param"] = names.of(field, code);
  answer.body = http::Body(json::serialize(*parsed));
  if (answer.failure) {
    auto own = std::make_shared<Error>(*answer.failure);
    rename_field(*own, names);
    answer.failure = std::move(own);
  }
  return answer;
}

}  // namespace corral::dialects
