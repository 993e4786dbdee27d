#include "json_schema/string_rules.h"

#include <fmt/format.h>

#include "json_schema/formats.h"
#include "json_schema/pattern.h"
#include "json_schema/text.h"
#include "json_schema/types.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using Rule = SchemaRules::Rule;

// The keyword that limits the length of strings; empty: none.
std::string_view length_keyword(const Object& schema) {
  return schema.contains("maxLength") ? "maxLength" : schema.contains("minLength") ? "minLength" : "";
}

// Strings that negations leave.
std::optional<Language> without(SchemaRules& rules, std::optional<Language> all, std::string_view keyword,
                                const Array& excluded, const std::string& at) {
  auto& languages = rules.languages();
  for (const auto& one : excluded) {
    if (!one.is_string()) continue;
    try {
      const auto pattern =
          keyword == "not_format" ? format_pattern(one.as_string()) : std::string_view(one.as_string());
      if (!pattern) continue;
      const auto other = languages.complement(keyword == "excluded" ? languages.text(characters_of(*pattern))
                                                                    : pattern_language(languages, *pattern));
      all = all ? languages.both(*all, other) : other;
    } catch (const UnsupportedPattern&) {
      rules.report("not", at, "its pattern can't be enforced");
    } catch (const TooComplex&) {
      rules.report("not", at, "its pattern is too complex");
    }
  }
  return all;
}

std::optional<Language> patterns_of(SchemaRules& rules, const Object& schema, const std::string& at) {
  auto& languages = rules.languages();
  std::optional<Language> all;
  const auto add = [&](std::string_view keyword, std::string_view pattern) {
    try {
      const auto one = pattern_language(languages, pattern);
      all = all ? languages.both(*all, one) : one;
    } catch (const UnsupportedPattern&) {  // reported already
    } catch (const TooComplex&) {
      rules.report(keyword, at, "the pattern is too complex");
    }
  };
  if (const auto* patterns = schema.if_contains("pattern")) {
    for (const auto& pattern : patterns->as_array()) add("pattern", pattern.as_string());
  }
  if (const auto* formats = schema.if_contains("format")) {
    for (const auto& format : formats->as_array()) {
      if (const auto pattern = format_pattern(format.as_string()); pattern && !pattern->empty())
        add("format", *pattern);
    }
  }
  for (const std::string_view keyword : {"not_pattern", "not_format", "excluded"}) {
    if (const auto* list = schema.if_contains(keyword)) all = without(rules, all, keyword, list->as_array(), at);
  }
  return all;
}

// Throws TooComplex.
Language lengths_of(Languages& languages, const Object& schema) {
  const auto min = count_of(schema, "minLength", 0), max = count_of(schema, "maxLength", Languages::kUnbounded);
  if (min > max) return languages.none();
  return languages.repeat(languages.set(CharSet::all()), static_cast<std::uint32_t>(min),
                          static_cast<std::uint32_t>(max));
}

Rule enforced(SchemaRules& rules, const Object& schema, const std::string& at) {
  const auto min = count_of(schema, "minLength", 0), max = count_of(schema, "maxLength", Languages::kUnbounded);
  if (min > max) return std::nullopt;
  const auto lengths = length_keyword(schema);
  if (const auto texts = patterns_of(rules, schema, at)) {
    if (!lengths.empty()) {
      try {
        return rules.language_rules().strings(*texts, min, max);
      } catch (const TooComplex&) {
        rules.report(lengths, at, "together with its pattern it is too complex");
      }
    }
    try {
      return rules.language_rules().strings(*texts);
    } catch (const TooComplex&) {
      rules.report(pattern_keyword(schema), at, "the pattern is too complex");
    }
  }
  if (lengths.empty()) return rules.grammar().builtin("string");
  return rules.grammar().rule(
      fmt::format(R"("\"" {} "\"")", rules.grammar().repeat(rules.grammar().builtin("char"), min, max)));
}

}  // namespace

std::string_view pattern_keyword(const Object& schema) {
  for (const std::string_view keyword : {"pattern", "format", "not_pattern", "not_format", "excluded"}) {
    if (schema.contains(keyword)) return keyword.starts_with("not") || keyword == "excluded" ? "not" : keyword;
  }
  return length_keyword(schema);
}

std::optional<Language> strings_of(SchemaRules& rules, const Object& schema, const std::string& at) {
  auto& languages = rules.languages();
  const auto texts = patterns_of(rules, schema, at);
  const auto keyword = length_keyword(schema);
  if (keyword.empty()) return texts;
  try {
    const auto lengths = lengths_of(languages, schema);
    return texts ? languages.both(*texts, lengths) : lengths;
  } catch (const TooComplex&) {
    rules.report(keyword, at, "it is too complex");
    return texts;
  }
}

Rule string_rule(SchemaRules& rules, const Object& schema, const std::string& at) {
  auto made = enforced(rules, schema, at);
  if (made || !schema.contains("pattern") || !schema.contains("format")) return made;
  // Zod writes patterns for times without a zone beside "time", which has one.
  auto rest = schema;
  rest.erase("format");
  made = enforced(rules, rest, at);
  if (made) rules.report("format", at, "it contradicts the pattern", true);
  return made;
}

}  // namespace corral::json_schema
