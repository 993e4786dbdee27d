// Bodies as the router looks into them, with every endpoint's table.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "json/peek.h"
#include "protocol/fields.h"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corral;
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto* table : {&protocol::chat_fields(), &protocol::completion_fields(), &protocol::native_fields(),
                            &protocol::embedding_fields(), &protocol::rerank_fields(), &protocol::tokenize_fields(),
                            &protocol::detokenize_fields()}) {
    const auto checked = protocol::check(text, *table);
    if (!checked && checked.error().message.empty()) std::abort();
  }
  const auto peek = json::Peek::open(text);
  if (!peek) return 0;
  walk(peek->root());
  // What is written out means the same.
  const auto written = peek->root().text();
  const auto again = json::Peek::open(written);
  if (!again || again->root().text() != written) std::abort();
  return 0;
}
