#include "json_schema/combinators.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "json_schema/exclusion.h"
#include "json_schema/negation.h"
#include "json_schema/pointers.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;
using List = Variants::List;

constexpr std::size_t kMaxExact = 16;  // variants of one schema of a oneOf

// An object without this property. Of a negation: it evaluates nothing.
Object absent(std::string_view name) {
  return {{"members", Array{Object{{"properties", Object{{name, false}}}, {"silent", true}}}}};
}

// Of a closed object: other objects have one of the names that only `own` lists.
std::vector<Object> beyond(const std::vector<Object>& own, const std::vector<Object>& other) {
  std::vector<Object> all;
  if (other.size() != 1 || !other.front().contains("members")) return all;
  const auto names_of = [](const Object& variant) {
    std::vector<std::string_view> names;
    const auto* lists = variant.if_contains("members");
    if (!lists) return names;
    for (const auto& members : lists->as_array()) {
      const auto* properties = members.as_object().if_contains("properties");
      if (!properties) continue;
      for (const auto& member : properties->as_object()) names.push_back(member.key());
    }
    return names;
  };
  for (const auto& members : other.front().at("members").as_array()) {
    if (!is_shut(members.as_object())) continue;
    const auto* known = members.as_object().if_contains("properties");
    for (const auto& variant : own) {
      for (const auto name : names_of(variant)) {
        if (known && known->as_object().contains(name)) continue;
        all.push_back({{"type", Array{"object"}}, {"required", Array{Value(name)}}, {"negated", true}});
      }
    }
  }
  return all;
}

}  // namespace

// Each schema together with the negations of those that it doesn't exclude.
List one_of(Variants& variants, const List& all, const Value& list, const std::string& at, std::size_t depth) {
  const auto& schemas = list.as_array();
  const auto here = [&](std::size_t i) { return fmt::format("{}/{}", pointer_to(at, "oneOf"), i); };
  std::vector<List> own, written;
  std::vector<bool> complete;  // all that fits the schema fits one of the written ones
  std::vector<std::optional<Negation>> negations(schemas.size());
  std::size_t sum = 0;
  for (std::size_t i = 0; i < schemas.size(); ++i) {
    const auto narrowed = variants.narrowed();
    own.push_back(variants.expand(schemas[i], here(i), depth + 1));
    const bool compared = schemas.size() > 1 && sum <= Variants::kMaxVariants;
    written.push_back(compared ? variants.write_out(own.back(), here(i), depth + 1) : List());
    complete.push_back(variants.narrowed() == narrowed);
    sum += written.back().size();
  }
  const bool too_many = sum > Variants::kMaxVariants;
  const auto share = std::min(kMaxExact, Variants::kMaxVariants / 2 / schemas.size());
  if (too_many) variants.report("oneOf", at, "its schemas overlap, so it is treated as anyOf");
  List result;
  for (std::size_t i = 0; i < schemas.size(); ++i) {
    auto some = variants.cross(all, own[i], at, depth);
    bool exact = true;
    auto narrowed = some;
    for (std::size_t j = 0; j < schemas.size() && exact && !too_many && !narrowed.empty(); ++j) {
      if (j == i || (complete[j] && variants.exclusive(written[i], written[j]))) continue;
      if (schemas[i] == schemas[j]) {
        narrowed.clear();
        break;
      }
      if (complete[j] && variants.exclusive(narrowed, written[j])) continue;
      if (!negations[j]) negations[j] = negated(variants, schemas[j], here(j), depth + 1);
      const auto outside = complete[j] ? beyond(written[i], written[j]) : List();
      // A part of what doesn't fit the other schemas is enough; each alternative gets its share.
      List next;
      const auto max = 1 + share / narrowed.size();
      for (const auto& one : narrowed) {
        auto parts = variants.cross({one}, negations[j]->list, at, depth, max);
        const auto left = max - std::min(max, parts.size());
        std::ranges::move(parts, std::back_inserter(next));
        if (left > 0) std::ranges::move(variants.cross({one}, outside, at, depth, left), std::back_inserter(next));
      }
      exact = !variants.spent() && (!next.empty() || negations[j]->exact);
      if (!negations[j]->exact) variants.narrow();
      narrowed = std::move(next);
    }
    if (!exact) variants.report("oneOf", at, "its schemas overlap, so it is treated as anyOf");
    std::ranges::move(exact ? narrowed : some, std::back_inserter(result));
    if (result.size() > Variants::kMaxVariants) Variants::refuse_more(here(i));
  }
  return result;
}

List without(Variants& variants, const List& all, const Value& schema, const std::string& at, std::size_t depth) {
  const auto others = negated(variants, schema, pointer_to(at, "not"), depth + 1);
  List made;
  for (const auto& one : all) {
    std::ranges::move(variants.cross({one}, others.list, at, depth,
                                     std::max<std::size_t>(1, Variants::kMaxVariants / 2 / all.size())),
                      std::back_inserter(made));
  }
  if (!others.exact) variants.narrow();
  if (made.empty() && !all.empty() && (!others.exact || variants.spent())) {
    variants.report("not", at, "a grammar can't say what doesn't fit it");
    return all;
  }
  return made;
}

List conditional(Variants& variants, const List& all, const Object& schema, const std::string& at, std::size_t depth) {
  const auto *then = schema.if_contains("then"), *otherwise = schema.if_contains("else");
  const auto& condition = schema.at("if");
  if (!then && !otherwise && !condition.is_object()) return all;
  const auto here = pointer_to(at, "if");
  auto others = negated(variants, condition, here, depth + 1);
  if ((others.list.empty() && !others.exact) || variants.spent() || all.size() > Variants::kMaxVariants / 4) {
    if (then || otherwise)
      variants.report("if", at,
                      others.list.empty() ? "a grammar can't say what doesn't fit it"
                                          : "with the rest it has too many alternatives");
    return all;
  }
  auto made = variants.cross(all, variants.expand(condition, here, depth + 1), at, depth);
  if (then) made = variants.cross(made, variants.expand(*then, pointer_to(at, "then"), depth + 1), at, depth);
  auto second = variants.cross(all, others.list, at, depth);
  if (otherwise)
    second = variants.cross(second, variants.expand(*otherwise, pointer_to(at, "else"), depth + 1), at, depth);
  std::ranges::move(second, std::back_inserter(made));
  if (!others.exact) variants.narrow();
  if (made.empty() && !all.empty() && !others.exact) {
    variants.report("if", at, "a grammar can't say what doesn't fit it");
    return all;
  }
  return made;
}

// Either the property is missing, or its dependents are present. For other values than objects they say nothing.
List dependents(Variants& variants, const List& all, std::string_view keyword, const Value& value,
                const std::string& at, std::size_t depth) {
  auto made = all;
  for (const auto& [name, dependent] : value.as_object()) {
    List present{Object{{"type", Array{"object"}}, {"required", Array{Value(name)}}}};
    if (dependent.is_array()) {
      auto& names = present.front()["required"].as_array();
      for (const auto& one : dependent.as_array()) {
        if (one.is_string() && one != Value(name)) names.push_back(one);
      }
      if (names.size() == 1) continue;
    } else if (dependent.is_object() || dependent.is_bool()) {
      if (dependent == Value(true)) continue;
      present = variants.cross(
          present, variants.expand(dependent, pointer_to(pointer_to(at, keyword), name), depth + 1), at, depth);
    } else {
      continue;
    }
    present.insert(present.begin(), absent(name));
    if (variants.spent() || made.size() * present.size() > Variants::kMaxVariants / 2) {
      variants.report(keyword, at, "with the rest it has too many alternatives");
      return made;
    }
    made = variants.cross(made, present, at, depth);
  }
  return made;
}

}  // namespace corral::json_schema
