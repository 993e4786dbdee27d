#include "dialects/canonical_body.h"

#include <algorithm>
#include <utility>

namespace corral::dialects {
namespace {

// Whether `name` is the row's, or something inside it.
bool is_of(std::string_view name, std::string_view row) {
  return name.starts_with(row) && (name.size() == row.size() || name[row.size()] == '.' || name[row.size()] == '[');
}

}  // namespace

void copy(json::Writer& out, json::View from, std::string_view name, std::string_view canonical) {
  if (const auto value = from.find(name); !value.is_null()) out.key(canonical).raw(value.text());
}

void begin_function(json::Writer& out, std::string_view name) {
  out.begin_object().field("type", "function").key("function").begin_object().field("name", name);
}

void end_function(json::Writer& out) { out.end_object().end_object(); }

std::string own_name(std::string_view canonical, std::span<const Renamed> rows) {
  const auto row = std::ranges::find_if(rows, [&](const Renamed& known) { return is_of(canonical, known.canonical); });
  if (row == rows.end()) return std::string(canonical);
  std::string own(row->own);
  return row->inside ? own.append(canonical.substr(row->canonical.size())) : own;
}

Result<protocol::Peeked> check_written(const std::string& body, const protocol::FieldTable& table,
                                       std::string (*own_name)(std::string_view canonical)) {
  auto about = protocol::check(body, table);
  if (about) return about;
  auto error = std::move(about.error());
  if (auto own = own_name(error.param); own != error.param) {
    const auto quoted = "'" + error.param + "'";
    if (const auto at = error.message.find(quoted); at != std::string::npos)
      error.message.replace(at, quoted.size(), "'" + own + "'");
    error.param = std::move(own);
  }
  return std::unexpected(std::move(error));
}

}  // namespace corral::dialects
