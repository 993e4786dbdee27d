#include "json_schema/converter.h"

#include "json_schema/schema_rules.h"

namespace corral::json_schema {

std::expected<SchemaGrammar, SchemaFault> make_grammar(const json::Value& schema, std::string_view prefix) {
  try {
    auto unenforced = check_keywords(schema);
    SchemaRules rules(schema, prefix, unenforced);
    auto root = rules.make();
    return SchemaGrammar{std::move(root), rules.text(), std::move(unenforced)};
  } catch (const SchemaFault& fault) {
    return std::unexpected(fault);
  } catch (const GrammarTooLarge&) {
    return std::unexpected(SchemaFault{"#", "comes to a grammar that is too large: make the schema smaller"});
  } catch (const TooComplex&) {
    return std::unexpected(SchemaFault{"#", "is too complex: make the schema smaller"});
  }
}

}  // namespace corral::json_schema
