#include "json_schema/pattern.h"

#include <algorithm>

#include "json_schema/pattern_parser.h"

namespace corral::json_schema {
namespace {

using Kind = PatternPart::Kind;

constexpr std::uint32_t kMaxUnrolled = 8;
// Parts of one pattern; unrolled parts count each time.
constexpr std::size_t kMaxPatternSteps = 10'000;

// ^, $ and look ahead consume no characters, but depend on the text around them.
bool has_conditions(const PatternPart& part) {
  if (part.kind == Kind::begin || part.kind == Kind::end || part.kind == Kind::look_ahead) return true;
  return std::ranges::any_of(part.parts, has_conditions);
}
bool has_begin(const PatternPart& part) {
  return part.kind == Kind::begin || std::ranges::any_of(part.parts, has_begin);
}
bool takes_nothing(const PatternPart& part) {
  if (part.kind == Kind::begin || part.kind == Kind::end || part.kind == Kind::look_ahead) return true;
  return (part.kind == Kind::sequence || part.kind == Kind::alternatives) &&
         std::ranges::all_of(part.parts, takes_nothing);
}
// Whether it matches the empty text.
bool may_be_empty(const PatternPart& part) {
  switch (part.kind) {
    case Kind::characters:
      return false;
    case Kind::sequence:
      return std::ranges::all_of(part.parts, may_be_empty);
    case Kind::alternatives:
      return std::ranges::any_of(part.parts, may_be_empty);
    case Kind::repeat:
      return part.min == 0 || may_be_empty(part.parts[0]);
    case Kind::look_ahead:
      return part.negative != may_be_empty(part.parts[0]);
    case Kind::begin:
    case Kind::end:
      return true;
  }
  return true;
}

class PatternCompiler {
 public:
  explicit PatternCompiler(Languages& languages) : languages_(languages) {}

  // Texts that match `part` followed by `rest`, which extends to the end of the text. `at_begin`: at the beginning of
  // the text.
  Language compile(const PatternPart& part, Language rest, bool at_begin) {
    if (++steps_ > kMaxPatternSteps) throw TooComplex();
    switch (part.kind) {
      case Kind::characters:
        return languages_.concat(languages_.set(part.characters), rest);
      case Kind::sequence:
        return sequence(part, rest, at_begin);
      case Kind::alternatives:
        return alternatives(part, rest, at_begin);
      case Kind::repeat:
        return repeat(part, rest, at_begin);
      case Kind::look_ahead: {
        const auto seen = compile(part.parts[0], languages_.all(), at_begin);
        return languages_.both(part.negative ? languages_.complement(seen) : seen, rest);
      }
      case Kind::begin:
        return at_begin ? rest : languages_.none();
      case Kind::end:
        return languages_.has_empty(rest) ? languages_.empty() : languages_.none();
    }
    return languages_.none();
  }

 private:
  Language sequence(const PatternPart& part, Language rest, bool at_begin) {
    std::vector<bool> begins;
    bool here = at_begin, may_be_here = at_begin;
    for (const auto& one : part.parts) {
      if (!here && may_be_here && has_begin(one))
        throw UnsupportedPattern{"has a '^' after a part that may be empty", false};
      begins.push_back(here);
      if (takes_nothing(one)) continue;
      here = false;
      may_be_here = may_be_here && may_be_empty(one);
    }
    for (auto at = part.parts.size(); at-- > 0;) rest = compile(part.parts[at], rest, begins[at]);
    return rest;
  }

  Language alternatives(const PatternPart& part, Language rest, bool at_begin) {
    const bool together = has_conditions(part);
    std::vector<Language> all;
    for (const auto& one : part.parts) all.push_back(compile(one, together ? rest : languages_.empty(), at_begin));
    const auto one_of = languages_.either(std::move(all));
    return together ? one_of : languages_.concat(one_of, rest);
  }

  Language repeat(const PatternPart& part, Language rest, bool at_begin) {
    const auto& body = part.parts[0];
    if (!has_conditions(body)) {
      const auto one = compile(body, languages_.empty(), at_begin);
      return languages_.concat(languages_.repeat(one, part.min, part.max), rest);
    }
    if (part.max > kMaxUnrolled || (part.max > 1 && has_begin(body))) {
      throw UnsupportedPattern{"repeats '^', '$' or look ahead", false};
    }
    auto made = rest;
    for (std::uint32_t at = part.max; at-- > 0;) {
      const auto once = compile(body, made, at_begin && at == 0);
      made = at < part.min ? once : languages_.either(once, rest);
    }
    return made;
  }

  Languages& languages_;
  std::size_t steps_ = 0;
};

Language compiled(Languages& languages, const PatternPart& part) {
  PatternCompiler compiler(languages);
  const auto any = languages.all();
  const auto something = languages.repeat(languages.set(CharSet::all()), 1, Languages::kUnbounded);
  return languages.either(compiler.compile(part, any, true),
                          languages.concat(something, compiler.compile(part, any, false)));
}

}  // namespace

Language pattern_language(Languages& languages, std::string_view pattern) {
  auto& patterns = languages.patterns();
  if (const auto known = patterns.find(pattern); known != patterns.end()) {
    return known->second ? *known->second : throw TooComplex();
  }
  std::optional<Language> made;
  try {
    made = compiled(languages, parse_pattern(pattern));
  } catch (const TooComplex&) {
  }
  patterns.emplace(pattern, made);
  return made ? *made : throw TooComplex();
}

}  // namespace corral::json_schema
