#include "json_schema/converter.h"

#include <algorithm>

#include "json_schema/schema_rules.h"

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

std::expected<SchemaGrammar, SchemaFault> make(const json::Value& root, const json::Value& schema,
                                               const std::string& at, Workspace& workspace) {
  try {
    auto unenforced = check_keywords(root, schema, at, &workspace.languages);
    SchemaRules rules(root, workspace, unenforced);
    auto name = rules.make(schema, at);
    return SchemaGrammar{std::move(name), std::move(unenforced)};
  } catch (const SchemaFault& fault) {
    return std::unexpected(fault);
  } catch (const GrammarTooLarge&) {
    return std::unexpected(SchemaFault{"#", "makes a grammar that is too large: make the schema smaller"});
  } catch (const TooComplex&) {
    return std::unexpected(SchemaFault{"#", "is too complex: make the schema smaller"});
  }
}

}  // namespace

std::expected<SchemaGrammar, SchemaFault> make_grammar(const json::Value& schema, Workspace& workspace) {
  return make(schema, schema, "#", workspace);
}

std::expected<SchemaGrammar, SchemaFault> make_property_grammar(const json::Value& schema, std::string_view property,
                                                                Workspace& workspace) {
  return make(schema, schema.at("properties").at(property), pointer_to("#/properties", property), workspace);
}

std::vector<std::string> value_types(const json::Value& root, const json::Value& schema) {
  std::vector<Unenforced> unenforced;
  std::vector<std::string> all;
  try {
    for (const auto& variant : Variants(root, unenforced).written_out(schema)) {
      auto types = variant.contains("enum") ? types_of_list(variant.at("enum").as_array()) : types_of(variant, "#");
      if (types.empty()) return {};
      for (auto& type : types) {
        if (std::ranges::find(all, type) == all.end()) all.push_back(std::move(type));
      }
    }
  } catch (const SchemaFault&) {
    return {};
  }
  return all;
}

}  // namespace corral::json_schema
