#include "json_schema/converter.h"

#include <algorithm>

#include "json_schema/pointers.h"
#include "json_schema/refs.h"
#include "json_schema/schema_rules.h"
#include "json_schema/types.h"

namespace corral::json_schema {
namespace {

std::vector<std::string> types_of_list(const json::Array& values) {
  std::vector<std::string> all;
  for (const auto& value : values) {
    all.emplace_back(value.is_string()   ? "string"
                     : value.is_bool()   ? "boolean"
                     : value.is_null()   ? "null"
                     : value.is_array()  ? "array"
                     : value.is_object() ? "object"
                                         : "number");
  }
  return all;
}

SchemaGrammar make(const json::Value& root, const json::Value& schema, const std::string& at, Workspace& workspace,
                   Reading reading) {
  auto unenforced = check_keywords(root, schema, at, &workspace.languages);
  SchemaRules rules(root, workspace, reading == Reading::strict, unenforced);
  auto name = rules.make(schema, at);
  return {std::move(name), std::move(unenforced)};
}

template <typename Make>
std::expected<SchemaGrammar, SchemaFault> without_throw(Make make_it) {
  try {
    return make_it();
  } catch (const SchemaFault& fault) {
    return std::unexpected(fault);
  } catch (const GrammarTooLarge&) {
    return std::unexpected(
        SchemaFault{"#", "makes a grammar that is too large: use fewer or shorter values and names"});
  } catch (const TooComplex&) {
    return std::unexpected(SchemaFault{"#", "is too complex: simplify its patterns and alternatives, or use fewer"});
  }
}

}  // namespace

std::expected<SchemaGrammar, SchemaFault> make_grammar(const json::Value& schema, Workspace& workspace,
                                                       Reading reading) {
  return without_throw([&] {
    if (!has_named_refs(schema)) return make(schema, schema, "#", workspace, reading);
    const auto root = with_pointers(schema);
    return make(root, root, "#", workspace, reading);
  });
}

std::expected<SchemaGrammar, SchemaFault> make_property_grammar(const json::Value& schema, std::string_view property,
                                                                Workspace& workspace, Reading reading) {
  return without_throw([&] {
    const auto& part = schema.at("properties").at(property);
    return make(schema, part, pointer_to("#/properties", property), workspace, reading);
  });
}

std::vector<std::string> value_types(const json::Value& root, const json::Value& schema, Workspace& workspace) {
  std::vector<Unenforced> unenforced;
  std::vector<std::string> all;
  try {
    for (const auto& variant : Variants(root, workspace.languages, false, unenforced).written_out(schema, "#")) {
      auto types = variant.contains("enum") ? types_of_list(variant.at("enum").as_array()) : types_of(variant, "#");
      if (types.empty()) return {};
      for (auto& type : types) {
        if (std::ranges::find(all, type) == all.end()) all.push_back(std::move(type));
      }
    }
  } catch (const SchemaFault&) {
    return {};
  } catch (const TooComplex&) {
    return {};
  }
  return all;
}

}  // namespace corral::json_schema
