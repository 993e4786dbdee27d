#include "json_schema/pointers.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "json_schema/keywords.h"

namespace corral::json_schema {
namespace {

using json::Value;

// "~1" is "/", "~0" is "~", and "%25" is "%".
std::string unescaped_token(std::string_view token) {
  std::string all;
  for (std::size_t at = 0; at < token.size(); ++at) {
    unsigned value = 0;
    if (token[at] == '~' && at + 1 < token.size() && (token[at + 1] == '0' || token[at + 1] == '1')) {
      all += token[++at] == '0' ? '~' : '/';
    } else if (token[at] == '%' && at + 2 < token.size() &&
               std::from_chars(token.data() + at + 1, token.data() + at + 3, value, 16).ptr == token.data() + at + 3) {
      all += static_cast<char>(value);
      at += 2;
    } else {
      all += token[at];
    }
  }
  return all;
}

}  // namespace

const Value& resolve(const Value& root, std::string_view ref, const std::string& at) {
  const auto nowhere = [&] {
    return SchemaFault{at,
                       fmt::format("names \"{:.60}\", which isn't in this schema: put its target into '$defs'", ref)};
  };
  if (ref != "#" && !ref.starts_with("#/")) throw nowhere();
  const Value* here = &root;
  for (auto rest = ref.substr(1); !rest.empty();) {
    rest.remove_prefix(1);
    const auto end = std::min(rest.find('/'), rest.size());
    const auto token = unescaped_token(rest.substr(0, end));
    rest.remove_prefix(end);
    const Value* next = nullptr;
    if (here->is_object()) {
      next = here->as_object().if_contains(token);
    } else if (here->is_array()) {
      std::size_t index = 0;
      const auto parsed = std::from_chars(token.data(), token.data() + token.size(), index);
      if (parsed.ec == std::errc() && parsed.ptr == token.data() + token.size())
        next = here->as_array().if_contains(index);
    }
    if (!next) throw nowhere();
    here = next;
  }
  return *here;
}

std::string pointer_to(const std::string& at, std::string_view member) {
  auto all = at + '/';
  for (const char c : member) {
    if (c == '~') {
      all += "~0";
    } else if (c == '/') {
      all += "~1";
    } else if (c == '%') {
      all += "%25";
    } else {
      all += c;
    }
  }
  return all;
}

}  // namespace corral::json_schema
