// For tests: what the grammar of a schema accepts, and why schemas are refused.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/grammar/gbnf.h"
#include "engine/grammar/matcher.h"
#include "json_schema/converter.h"
#include "json_schema/problems.h"

namespace corral::json_schema {

// Whether the grammar of a schema allows this text, and it may end there.
inline bool allows(std::string_view schema, std::string_view text, Reading reading = Reading::lenient) {
  Workspace workspace("j");
  const auto made = make_grammar(*json::parse(schema), workspace, reading);
  if (!made) throw std::runtime_error(made.error().reason);
  auto grammar = engine::parse_gbnf("root ::= " + made->root + "\n" + workspace.text.text(), {});
  if (!grammar) throw std::runtime_error(grammar.error().message);
  const auto bytes = [](engine::Token token, std::string& to) { to += static_cast<char>(token); };
  const engine::GrammarVocabulary vocabulary(257, bytes, [](engine::Token token) { return token == 256; });
  engine::GrammarMatcher matcher(std::make_shared<const engine::Grammar>(std::move(*grammar)), vocabulary);
  for (const char c : text) {
    const auto token = static_cast<engine::Token>(static_cast<unsigned char>(c));
    if (!matcher.allows(token)) return false;
    matcher.accept(token);
  }
  return matcher.may_end();
}

// The texts of a list that fit the schema, as `strict` reads it.
inline std::vector<std::string> fitting(std::string_view schema, const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const auto& text : texts) {
    if (allows(schema, text, Reading::strict)) all.push_back(text);
  }
  return all;
}

// The messages about a schema with `strict`: why it is refused, and warnings.
inline std::vector<std::string> complaints(std::string_view schema) {
  Workspace workspace("j");
  const auto made = make_grammar(*json::parse(schema), workspace, Reading::strict);
  if (!made) return {describe(made.error(), "schema")};
  std::vector<std::string> all;
  for (const auto& one : made->unenforced) {
    all.push_back(one.annotation ? describe_ignored(one, "schema") : describe_refused(one, "schema"));
  }
  return all;
}

}  // namespace corral::json_schema
