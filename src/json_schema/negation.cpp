#include "json_schema/negation.h"

#include <algorithm>
#include <iterator>

#include "json_schema/conjunction.h"
#include "json_schema/negated_keywords.h"
#include "json_schema/pointers.h"

namespace corral::json_schema {
namespace {

using json::Object;
using json::Value;
using List = Variants::List;

constexpr std::size_t kMaxNegations = 24;  // inside each other
constexpr std::size_t kMaxList = 64;

Negation negated_all(Variants& variants, const Value& schemas, const std::string& at, std::size_t depth) {
  Negation all{{Object()}, true};
  for (const auto& one : schemas.as_array()) {
    auto inner = negated(variants, one, at, depth + 1);
    all.exact = all.exact && inner.exact;
    all.list = variants.cross(all.list, inner.list, at, depth, kMaxList);
    all.exact = all.exact && all.list.size() < kMaxList && !variants.spent();
    if (all.list.empty() && all.exact) return all;
  }
  return all;
}

// What fits a schema inside a negation: it evaluates nothing.
List expand_silently(Variants& variants, const Value& schema, const std::string& at, std::size_t depth) {
  auto list = variants.write_out(variants.expand(schema, at, depth + 1), at, depth);
  for (auto& one : list) {
    one["negated"] = true;
    if (auto* members = one.if_contains("members")) {
      for (auto& part : members->as_array()) part.as_object()["silent"] = true;
    }
  }
  return list;
}

void negate_combinators(Variants& variants, const Object& schema, const std::string& at, std::size_t depth,
                        Negation& made) {
  const auto add = [&](List more, bool exact) {
    std::ranges::move(more, std::back_inserter(made.list));
    made.exact = made.exact && exact;
  };
  if (const auto* ref = schema.if_contains("$ref")) {
    const std::string name(ref->as_string());
    auto inner = negated(variants, resolve(variants.root(), name, at), name, depth + 1);
    add(std::move(inner.list), inner.exact);
  }
  if (const auto* parts = schema.if_contains("allOf")) {
    for (const auto& one : parts->as_array()) {
      auto inner = negated(variants, one, at, depth + 1);
      add(std::move(inner.list), inner.exact);
    }
  }
  // None of them is more than oneOf needs: several might fit.
  for (const auto* keyword : {"anyOf", "oneOf"}) {
    const auto* parts = schema.if_contains(keyword);
    if (!parts) continue;
    auto inner = negated_all(variants, *parts, at, depth + 1);
    add(std::move(inner.list), inner.exact && keyword[0] == 'a');
  }
  if (const auto* inner = schema.if_contains("not")) {
    const auto narrowed = variants.narrowed();
    auto list = expand_silently(variants, *inner, pointer_to(at, "not"), depth);
    add(std::move(list), variants.narrowed() == narrowed);
  }
  if (const auto* condition = schema.if_contains("if")) {
    if (const auto* then = schema.if_contains("then")) {
      auto inner = negated(variants, *then, at, depth + 1);
      add(variants.cross(expand_silently(variants, *condition, at, depth), inner.list, at, depth, kMaxList),
          inner.exact);
    }
    if (const auto* otherwise = schema.if_contains("else")) {
      auto no = negated(variants, *condition, at, depth + 1), inner = negated(variants, *otherwise, at, depth + 1);
      add(variants.cross(no.list, inner.list, at, depth, kMaxList), no.exact && inner.exact);
    }
  }
  for (const auto* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    if (schema.contains(keyword)) made.exact = false;
  }
}

}  // namespace

Negation negated(Variants& variants, const Value& schema, const std::string& at, std::size_t depth) {
  if (schema.is_bool()) return {schema.as_bool() ? List() : List{Object()}, true};
  variants.step(at);
  if (variants.spent() || depth > kMaxNegations || !schema.is_object()) return {{}, false};
  const auto& object = schema.as_object();
  const auto plain = plain_form(object);
  variants.count(plain, at);
  Negation made;
  made.exact = negate_keywords(object, plain, kMaxList, made.list);
  for (const auto* keyword : {"multipleOf", "$dynamicRef", "unevaluatedProperties", "unevaluatedItems"}) {
    made.exact = made.exact && !object.contains(keyword);
  }
  negate_combinators(variants, object, at, depth, made);
  if (made.list.size() > kMaxList) {
    made.list.resize(kMaxList);
    made.exact = false;
  }
  for (const auto& one : made.list) variants.count(one, at);
  return made;
}

}  // namespace corral::json_schema
