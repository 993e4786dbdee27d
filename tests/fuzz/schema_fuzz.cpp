// JSON schemas. Whatever passes the check of requests becomes a grammar or an error, within bounds, and the grammar is
// one that the engine takes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "engine/grammar/gbnf.h"
#include "json/peek.h"
#include "json/value.h"
#include "json_schema/converter.h"
#include "protocol/rules/rules.h"

namespace {

void must(bool fine) {
  if (!fine) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  const auto peek = corral::json::Peek::open(text);
  if (!peek || !corral::protocol::check_schema(peek->root(), corral::protocol::Path())) return 0;
  const auto schema = corral::json::parse(text);
  if (!schema) return 0;
  const auto reading = size % 2 == 0 ? corral::json_schema::Reading::strict : corral::json_schema::Reading::lenient;
  corral::json_schema::Workspace workspace("j");
  const auto made = corral::json_schema::make_grammar(*schema, workspace, reading);
  if (!made) {
    must(!made.error().pointer.empty() && !made.error().reason.empty());
    return 0;
  }
  const auto grammar = corral::engine::parse_gbnf("root ::= " + made->root + "\n" + workspace.text.text(), {});
  // What grows too large says so; anything else would be a fault of the rules.
  must(grammar || grammar.error().message.find("more than") != std::string::npos);
  return 0;
}
