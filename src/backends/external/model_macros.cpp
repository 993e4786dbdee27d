#include "backends/external/model_macros.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "backends/external/descriptor_reader.h"
#include "backends/external/errors.h"

namespace corral::backends {
namespace {

constexpr std::size_t kLongestMacro = 64 * 1024;

std::string with_macros(std::string_view text, const Macros& macros) {
  std::string out;
  while (!text.empty() && out.size() < kLongestMacro) {
    const auto at = text.find("${");
    const auto end = at == text.npos ? text.npos : text.find('}', at);
    if (end == text.npos) break;
    const auto known = macros.find(text.substr(at + 2, end - at - 2));
    out.append(text.substr(0, at));
    if (known == macros.end()) {
      out.append(text.substr(at, end + 1 - at));
    } else {
      out.append(known->second);
    }
    text.remove_prefix(end + 1);
  }
  return out.append(text);
}

}  // namespace

void put_in(toml::node& node, const Macros& macros) {
  if (auto* text = node.as_string()) {
    text->get() = with_macros(text->get(), macros);
  } else if (auto* array = node.as_array()) {
    for (auto& element : *array) put_in(element, macros);
  } else if (auto* table = node.as_table()) {
    for (auto&& [key, value] : *table) put_in(value, macros);
  }
}

// In the order of the file, so that a macro may use earlier ones.
Result<> read_macros(const toml::node* node, const std::string& where, Macros& macros) {
  if (node == nullptr) return {};
  const auto* table = node->as_table();
  if (table == nullptr)
    return fail(external::errc::bad_descriptor, fmt::format("{}: macros: it must be a table of strings", where),
                "macros");
  std::vector<std::tuple<toml::source_index, toml::source_index, std::string>> names;
  for (const auto& [key, value] : *table)
    names.emplace_back(key.source().begin.line, key.source().begin.column, key.str());
  std::ranges::sort(names);
  for (const auto& [line, column, name] : names) {
    const auto text = texts_of(*table->get(name));
    if (!text || table->get(name)->is_array() || name == "PORT" || name == "MODEL_ID" || name == "PID")
      return fail(external::errc::bad_descriptor,
                  fmt::format("{}: macros: '{}' must be a string with a unique name", where, name), "macros");
    macros[name] = with_macros(text->front(), macros);
  }
  return {};
}

}  // namespace corral::backends
