// Converts schemas to grammar rules. Used by make_grammar() only.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "json_schema/converter.h"
#include "json_schema/grammar_text.h"
#include "json_schema/keywords.h"
#include "json_schema/language.h"
#include "json_schema/variants.h"

namespace corral::json_schema {

class SchemaRules {
 public:
  // The name of a rule, or an equivalent body; nothing: no value fits.
  using Rule = std::optional<std::string>;

  SchemaRules(const json::Value& root, Workspace& workspace, bool strict, std::vector<Unenforced>& unenforced)
      : root_(root),
        strict_(strict),
        unenforced_(unenforced),
        evaluator_(root, workspace.languages),
        variants_(root, workspace.languages, strict, unenforced),
        text_(workspace.text),
        languages_(workspace.languages),
        language_rules_(workspace.rules) {}

  // The name of the rule of a schema, which is in the root at `at`. Throws SchemaFault, GrammarTooLarge, TooComplex.
  std::string make(const json::Value& schema, const std::string& at);

  // For the rules of one type: string_rules.h, number_rules.h, object_rules.h and array_rules.h.
  bool strict() const { return strict_; }
  Rule visit(const json::Value& schema, const std::string& at);
  // A schema inside an object or an array, where the outer schemas may recur.
  Rule visit_inside(const json::Value& schema, const std::string& at);
  GrammarText& grammar() { return text_; }
  Languages& languages() { return languages_; }
  LanguageRules& language_rules() { return language_rules_; }
  void report(std::string_view keyword, const std::string& at, std::string reason, bool annotation = false);
  // The strings that fit a schema; nothing: all.
  std::optional<Language> names_of(const json::Value& schema, const std::string& at);
  // The values of a schema if it lists them all; nothing: it doesn't.
  std::optional<json::Array> listed_values(const json::Value& schema, const std::string& at);
  // Whether a schema has no more alternatives than there may be.
  bool expands(const json::Value& schema, const std::string& at);
  // A text of this value.
  std::string constant(const json::Value& value);
  Rule either(const std::vector<std::string>& rules);

 private:
  Rule visit_variant(const json::Object& schema, const std::string& at);
  Rule visit_known(const json::Object& variant, const std::string& at);
  Rule visit_ref(const std::string& ref, const std::string& at);
  Rule visit_type(std::string_view type, const json::Object& schema, const std::string& at);
  Rule values(const json::Object& schema, const std::string& at);
  bool fits(const json::Object& schema, const json::Value& value, const std::string& at);

  const json::Value& root_;
  const bool strict_;
  std::vector<Unenforced>& unenforced_;
  Evaluator evaluator_;
  Variants variants_;
  GrammarText& text_;
  Languages& languages_;
  LanguageRules& language_rules_;
  std::map<std::string, Rule, std::less<>> refs_;
  std::set<std::string, std::less<>> open_refs_;    // visited now, without any output since
  std::map<std::string, Rule, std::less<>> known_;  // deep inside: by their text
  std::size_t visits_ = 0, depth_ = 0;
};

}  // namespace corral::json_schema
