// corral-schema-judge [lenient]: for each line of standard input, {"schema": …, "texts": […]}, one line of JSON:
// whether the grammar of the schema accepts each text ("fits"), what isn't enforced, and what it cost; or why the
// schema is refused. Schemas are read as with `strict`, unless the argument is given.
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/grammar/gbnf.h"
#include "engine/grammar/matcher.h"
#include "engine/grammar/vocabulary.h"
#include "json/peek.h"
#include "json/value.h"
#include "json_schema/converter.h"
#include "protocol/rules/rules.h"

namespace {

namespace json = corral::json;
namespace engine = corral::engine;

// One token for each byte.
const engine::GrammarVocabulary& bytes() {
  static const engine::GrammarVocabulary all(
      257, [](engine::Token token, std::string& to) { to += static_cast<char>(token); },
      [](engine::Token token) { return token == 256; });
  return all;
}

bool fits(const std::shared_ptr<const engine::Grammar>& grammar, std::string_view text) {
  engine::GrammarMatcher matcher(grammar, bytes());
  for (const char c : text) {
    const auto token = static_cast<engine::Token>(static_cast<unsigned char>(c));
    if (!matcher.allows(token)) return false;
    matcher.accept(token);
  }
  return matcher.may_end();
}

json::Object refused(std::string_view by, std::string_view at, std::string_view reason) {
  return {{"refused", by}, {"pointer", at}, {"reason", reason}};
}

json::Object judged(const std::string& line, corral::json_schema::Reading reading) {
  const auto given = json::parse(line);
  if (!given) return refused("line", "", given.error().message);
  const auto& schema = given->at("schema");
  const auto text = json::serialize(schema);
  const auto peek = json::Peek::open(text);
  if (!peek) return refused("text", "", peek.error().message);
  if (const auto checked = corral::protocol::check_schema(peek->root(), corral::protocol::Path()); !checked) {
    return refused("limits", "", checked.error().message);
  }
  const auto begin = std::chrono::steady_clock::now();
  corral::json_schema::Workspace workspace("j");
  const auto made = corral::json_schema::make_grammar(schema, workspace, reading);
  if (!made) return refused("schema", made.error().pointer, made.error().reason);
  const auto parsed = engine::parse_gbnf("root ::= " + made->root + "\n" + workspace.text.text(), {});
  if (!parsed) return refused("grammar", "", parsed.error().message);
  const std::chrono::duration<double, std::milli> cost = std::chrono::steady_clock::now() - begin;
  const auto grammar = std::make_shared<const engine::Grammar>(*parsed);
  json::Array unenforced, all;
  for (const auto& one : made->unenforced) {
    unenforced.push_back(json::Object{
        {"keyword", one.keyword}, {"pointer", one.pointer}, {"reason", one.reason}, {"note", one.annotation}});
  }
  for (const auto& instance : given->at("texts").as_array()) {
    try {
      all.emplace_back(fits(grammar, instance.as_string()));
    } catch (const std::runtime_error& fault) {
      all.emplace_back(fault.what());
    }
  }
  return {{"unenforced", unenforced}, {"fits", all}, {"ms", cost.count()}, {"symbols", grammar->symbols.size()}};
}

}  // namespace

int main(int argc, char** argv) {
  using corral::json_schema::Reading;
  const auto reading = argc > 1 && std::string_view(argv[1]) == "lenient" ? Reading::lenient : Reading::strict;
  for (std::string line; std::getline(std::cin, line);)
    std::cout << json::serialize(judged(line, reading)) << std::endl;
}
