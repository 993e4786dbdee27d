#include "dialects/canonical_body.h"

namespace corral::dialects {
void copy(json::Writer& out, json::View from, std::string_view name, std::string_view canonical) {
  if (const auto value = from.find(name); !value.is_null()) out.key(canonical).raw(value.text());
}

void begin_function(json::Writer& out, std::string_view name) {
  out.begin_object().field("type", "function").key("function").begin_object().field("name", name);
}

void end_function(json::Writer& out) { out.end_object().end_object(); }

Result<protocol::Peeked> check_written(const std::string& body, const protocol::FieldTable& table,
                                       const OwnNames& names) {
  auto about = protocol::check(body, table);
  if (!about) rename_field(about.error(), names);
  return about;
}

}  // namespace corral::dialects
