#include <algorithm>
#include <array>
#include <utility>

#include "api/openapi.h"

namespace corral::api {
namespace {

using protocol::Field;
using protocol::Kinds;

constexpr auto kNames = std::to_array<std::pair<Kinds, std::string_view>>({
    {protocol::kString, "string"},
    {protocol::kInteger, "integer"},
    {protocol::kNumber, "number"},
    {protocol::kBoolean, "boolean"},
    {protocol::kArray, "array"},
    {protocol::kObject, "object"},
});

bool is(const Field& field, unsigned kind) { return (field.kinds & kind) != 0; }

// "type"; nothing if any type is valid.
void write_types(json::Writer& out, unsigned kinds, bool or_null) {
  if (kinds == protocol::kAny) return;
  out.key("type").begin_array();
  for (const auto& [kind, name] : kNames) {
    const bool whole_among_numbers = kind == protocol::kInteger && (kinds & protocol::kNumber) != 0;
    if ((kinds & kind) != 0 && !whole_among_numbers) out.value(name);
  }
  if (or_null) out.value("null");
  out.end_array();
}

void write_range(json::Writer& out, const Field& field) {
  if (field.min == protocol::kAboveZero) {
    out.field("exclusiveMinimum", 0);
  } else if (field.min != -protocol::kUnbounded) {
    out.field("minimum", field.min);
  }
  if (field.max != protocol::kUnbounded) out.field("maximum", field.max);
}

void write_lengths(json::Writer& out, const Field& field) {
  // The table counts bytes, the schema characters, which are never more.
  if (is(field, protocol::kString)) {
    if (field.min_size > 0) out.field("minLength", 1);
    if (field.max_bytes != protocol::kNoLimit) out.field("maxLength", field.max_bytes);
  }
  if (!is(field, protocol::kArray)) return;
  if (field.min_size > 0) out.field("minItems", field.min_size);
  if (field.max_size != protocol::kNoLimit) out.field("maxItems", field.max_size);
  out.key("items").begin_object();
  write_types(out, field.elements, false);
  out.end_object();
}

void write_choices(json::Writer& out, const Field& field) {
  if (field.choices.empty() || field.kinds != protocol::kString) return;
  out.key("enum").begin_array();
  for (auto left = field.choices;;) {
    const auto end = left.find('|');
    out.value(left.substr(0, end));
    if (end == std::string_view::npos) break;
    left.remove_prefix(end + 1);
  }
  if (!field.required) out.null();
  out.end_array();
}

void write_field(json::Writer& out, const Field& field) {
  out.any_key(field.name).begin_object();
  write_types(out, field.kinds, !field.required);
  if (is(field, protocol::kInteger | protocol::kNumber)) write_range(out, field);
  write_lengths(out, field);
  write_choices(out, field);
  if (!field.about.empty()) out.field("description", field.about);
  out.end_object();
}

}  // namespace

void write_properties(json::Writer& out, const protocol::FieldTable& table) {
  for (const auto& field : table.fields()) write_field(out, field);
}

void write_schema(json::Writer& out, const protocol::FieldTable& table) {
  out.begin_object().field("type", "object").key("properties").begin_object();
  write_properties(out, table);
  out.end_object();
  const auto fields = table.fields();
  if (std::ranges::any_of(fields, &Field::required)) {
    out.key("required").begin_array();
    for (const auto& field : fields) {
      if (field.required) out.value(field.name);
    }
    out.end_array();
  }
  out.end_object();
}

}  // namespace corral::api
