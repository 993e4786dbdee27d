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

  SchemaRules(const json::Value& root, Workspace& workspace, std::vector<Unenforced>& unenforced)
      : root_(root),
        unenforced_(unenforced),
        variants_(root, unenforced),
        text_(workspace.text),
        languages_(workspace.languages),
        language_rules_(workspace.rules) {}

  // The name of the rule of a schema, which is in the root at `at`. Throws SchemaFault, GrammarTooLarge, TooComplex.
  std::string make(const json::Value& schema, const std::string& at);

  // For object_rules.h.
  Rule visit(const json::Value& schema, const std::string& at);
  // A schema inside an object or an array, where the outer schemas may recur.
  Rule visit_inside(const json::Value& schema, const std::string& at);
  GrammarText& grammar() { return text_; }
  Languages& languages() { return languages_; }
  LanguageRules& language_rules() { return language_rules_; }
  void report(std::string_view keyword, const std::string& at, std::string reason);
  // The strings that fit the string assertions of `schema`; nothing: all. Unsupported or too complex assertions are
  // omitted and reported.
  std::optional<Language> strings_of(const json::Object& schema, const std::string& at);

 private:
  Rule visit_variant(const json::Object& schema, const std::string& at);
  Rule visit_known(const json::Object& variant, const std::string& at);
  Rule visit_ref(const std::string& ref, const std::string& at);
  Rule visit_type(std::string_view type, const json::Object& schema, const std::string& at);
  Rule values(const json::Object& schema, const std::string& at);
  std::optional<Language> patterns_of(const json::Object& schema, const std::string& at);
  Language lengths_of(const json::Object& schema);
  Rule string(const json::Object& schema, const std::string& at);
  Rule number(const json::Object& schema, const std::string& at, bool integer);
  Rule array(const json::Object& schema, const std::string& at);
  bool fits(const json::Object& schema, const json::Value& value, const std::string& at);
  Rule either(const std::vector<std::string>& rules);

  const json::Value& root_;
  std::vector<Unenforced>& unenforced_;
  Variants variants_;
  GrammarText& text_;
  Languages& languages_;
  LanguageRules& language_rules_;
  std::map<std::string, Rule, std::less<>> refs_;
  std::set<std::string, std::less<>> open_refs_;    // visited now, without any output since
  std::map<std::string, Rule, std::less<>> known_;  // deep inside: by their text
  std::size_t visits_ = 0, depth_ = 0;
};

// The types that the assertions of a schema apply to; empty: all, if it has no `type`. Throws SchemaFault.
std::vector<std::string> types_of(const json::Object& schema, const std::string& at);

// The value of a count keyword, at most kNoMost; `otherwise` if it is missing.
std::size_t count_of(const json::Object& schema, std::string_view name, std::size_t otherwise);

}  // namespace corral::json_schema
