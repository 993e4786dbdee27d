// Bodies as the router looks into them, with every endpoint's table.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "json/peek.h"
#include "json/value.h"
#include "protocol/anthropic/anthropic_fields.h"
#include "protocol/fields.h"
#include "protocol/responses/responses_fields.h"

namespace {

using corral::json::View;

// Every value once, as the kinds that it is and isn't.
std::size_t walk(View view) {
  std::size_t seen = 1 + view.as_string().size() + static_cast<std::size_t>(view.as_bool());
  (void)view.as_number();
  (void)view.as_integer();
  (void)view.find("model").found();
  (void)view.excerpt();
  std::size_t elements = 0;
  view.each_element([&](View element) {
    ++elements;
    seen += walk(element);
  });
  view.each_member([&](std::string_view name, View value) {
    ++elements;
    seen += name.size() + walk(value);
  });
  if (elements != view.size()) std::abort();
  return seen;
}

// Whether another reader finds the same in the text.
bool same(View view, const corral::json::Value& tree) {
  using corral::json::Kind;
  switch (view.kind()) {
    case Kind::null:
      return tree.is_null();
    case Kind::boolean:
      return tree.is_bool() && tree.get_bool() == view.as_bool();
    case Kind::integer:
      return tree.is_int64() ? tree.get_int64() == view.as_integer()
                             : tree.is_uint64() && view.as_integer() == std::numeric_limits<std::int64_t>::max();
    case Kind::number:
      return tree.is_double() && std::abs(tree.get_double() - view.as_number()) <= 1e-14 * std::abs(view.as_number());
    case Kind::string:
      return tree.is_string() && std::string_view(tree.get_string()) == view.as_string();
    case Kind::array: {
      if (!tree.is_array() || tree.get_array().size() != view.size()) return false;
      std::size_t at = 0;
      bool all = true;
      view.each_element([&](View element) { all = all && same(element, tree.get_array()[at++]); });
      return all;
    }
    case Kind::object:
      break;
  }
  if (!tree.is_object()) return false;
  bool all = true;
  view.each_member([&](std::string_view name, View) {
    const auto* member = corral::json::find(tree, name);
    all = all && member && same(view.find(name), *member);
  });
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corral;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto* table :
       {&protocol::chat_fields(), &protocol::completion_fields(), &protocol::native_fields(),
        &protocol::embedding_fields(), &protocol::rerank_fields(), &protocol::tokenize_fields(),
        &protocol::detokenize_fields(), &protocol::responses_fields(), &protocol::conversation_fields(),
        &protocol::conversation_items_fields(), &protocol::messages_fields(), &protocol::count_tokens_fields()}) {
    const auto checked = protocol::check(text, *table);
    if (!checked && checked.error().message.empty()) std::abort();
  }
  const auto peek = json::Peek::open(text);
  if (!peek) return 0;
  walk(peek->root());
  // The other reader takes no exponents beyond a double's, not even of numbers that are 0.
  const auto tree = json::parse(text);
  if (tree ? !same(peek->root(), *tree) : text.find_first_of("eE") == std::string::npos) std::abort();
  // What is written out means the same.
  const auto written = peek->root().text();
  const auto again = json::Peek::open(written);
  if (!again || again->root().text() != written) std::abort();
  return 0;
}
