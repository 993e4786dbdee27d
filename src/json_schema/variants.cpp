#include "json_schema/variants.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include <fmt/format.h>

#include "json_schema/conjunction.h"
#include "json_schema/evaluate.h"
#include "json_schema/exclusion.h"
#include "json_schema/pattern.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::size_t kMaxVariants = 256;
constexpr std::size_t kMaxExact = 16;  // variants of one schema of a oneOf
constexpr std::size_t kMaxHops = 64;

// Approximate size of a copy.
std::size_t size_of(const Value& value) {
  std::size_t bytes = sizeof(Value);
  if (value.is_string()) bytes += value.as_string().size();
  if (value.is_array()) {
    for (const auto& one : value.as_array()) bytes += size_of(one);
  }
  if (value.is_object()) {
    for (const auto& [name, one] : value.as_object()) bytes += name.size() + size_of(one);
  }
  return bytes;
}

bool is_ref(const Object& variant) { return variant.contains("$ref"); }

// An object without this property. Of a negation: it evaluates nothing.
Object absent(std::string_view name) {
  return {{"members", Array{Object{{"properties", Object{{name, false}}}, {"silent", true}}}}};
}

bool shut(const Object& members) {
  const auto* others = members.if_contains("additionalProperties");
  return others && *others == Value(false) && !members.contains("patternProperties");
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
    if (!shut(members.as_object())) continue;
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

void Variants::report(std::string_view keyword, const std::string& at, std::string reason) {
  Unenforced one{std::string(keyword), pointer_to(at, keyword), std::move(reason)};
  if (std::ranges::find(unenforced_, one) == unenforced_.end()) unenforced_.push_back(std::move(one));
}

void Variants::count(const Object& made, const std::string& at) {
  for (const auto& [name, value] : made) bytes_ += name.size() + size_of(value);
  if (bytes_ > kMaxBytes) throw SchemaFault{at, "is copied too often by its alternatives: make the schema smaller"};
}

std::vector<Object> Variants::of(const Value& schema, const std::string& at) { return expand(schema, at, 0); }

std::vector<Object> Variants::written_out(const Value& schema, const std::string& at) {
  return write_out(of(schema, at), at, 0);
}

Variants::List Variants::write_out(const List& some, const std::string& at, std::size_t depth) {
  List all;
  for (const auto& one : some) std::ranges::move(expand_ref(one, at, depth), std::back_inserter(all));
  return all;
}

Variants::List Variants::expand(const Value& schema, const std::string& at, std::size_t depth) {
  if (++steps_ > kMaxSteps) throw SchemaFault{at, "has too many alternatives: make the schema smaller"};
  if (depth > kMaxHops) throw SchemaFault{at, "has references without an end"};
  if (schema.is_bool()) return schema.as_bool() ? List{Object()} : List();
  const auto& object = schema.as_object();
  List all{plain_form(object)};
  count(all.front(), at);
  if (!keep(all.front())) return {};
  if (const auto* ref = object.if_contains("$ref")) all = cross(all, {Object{{"$ref", *ref}}}, at, depth);
  if (const auto* parts = object.if_contains("allOf")) {
    const auto here = pointer_to(at, "allOf");
    for (std::size_t i = 0; i < parts->as_array().size(); ++i) {
      all = cross(all, expand(parts->as_array()[i], fmt::format("{}/{}", here, i), depth + 1), at, depth);
    }
  }
  if (const auto* list = object.if_contains("anyOf")) {
    all = cross(all, alternatives(*list, pointer_to(at, "anyOf"), depth), at, depth);
  }
  if (const auto* list = object.if_contains("oneOf")) all = one_of(all, *list, at, depth);
  if (const auto* inner = object.if_contains("not")) all = without(all, *inner, at, depth);
  if (object.contains("if")) all = conditional(all, object, at, depth);
  for (const auto* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    const auto* names = object.if_contains(keyword);
    if (names && names->is_object()) all = dependents(all, keyword, *names, at, depth);
  }
  if (const auto* inner = object.if_contains("unevaluatedItems"); inner && *inner != Value(true)) {
    all = unevaluated_items(std::move(all), *inner, at, depth);
  }
  if (const auto* inner = object.if_contains("unevaluatedProperties")) {
    all = unevaluated_properties(std::move(all), *inner, at, depth);
  }
  return all;
}

Variants::List Variants::expand_ref(const Object& variant, const std::string& at, std::size_t depth) {
  if (!is_ref(variant)) return {variant};
  const std::string ref(variant.at("$ref").as_string());
  return write_out(expand(resolve(root_, ref, at), ref, depth + 1), at, depth + 1);
}

Variants::List Variants::alternatives(const Value& list, const std::string& at, std::size_t depth) {
  List all;
  for (std::size_t i = 0; i < list.as_array().size(); ++i) {
    const auto here = fmt::format("{}/{}", at, i);
    std::ranges::move(expand(list.as_array()[i], here, depth + 1), std::back_inserter(all));
    if (all.size() > kMaxVariants) throw SchemaFault{here, "has too many alternatives: make the schema smaller"};
  }
  return all;
}

bool Variants::exclusive(const List& some, const List& others) {
  return std::ranges::all_of(some, [&](const Object& one) {
    return std::ranges::all_of(
        others, [&](const Object& other) { return exclude_each_other(one, other, strict_, comparisons_); });
  });
}

// Exactly one: each schema together with the negations of those that it doesn't exclude.
Variants::List Variants::one_of(const List& all, const Value& list, const std::string& at, std::size_t depth) {
  const auto& schemas = list.as_array();
  const auto here = [&](std::size_t i) { return fmt::format("{}/{}", pointer_to(at, "oneOf"), i); };
  std::vector<List> own, written;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < schemas.size(); ++i) {
    own.push_back(expand(schemas[i], here(i), depth + 1));
    const bool compared = schemas.size() > 1 && sum <= kMaxVariants;
    written.push_back(compared ? write_out(own.back(), here(i), depth + 1) : List());
    sum += written.back().size();
  }
  const bool too_many = sum > kMaxVariants;
  const auto share = std::min(kMaxExact, kMaxVariants / 2 / schemas.size());
  if (too_many) report("oneOf", at, "its schemas overlap, so it is treated as anyOf");
  List result;
  for (std::size_t i = 0; i < schemas.size(); ++i) {
    auto some = cross(all, own[i], at, depth);
    bool exact = true;
    auto narrowed = some;
    for (std::size_t j = 0; j < schemas.size() && exact && !too_many && !narrowed.empty(); ++j) {
      if (j == i || written[j].empty() || exclusive(written[i], written[j])) continue;
      if (schemas[i] == schemas[j]) {
        narrowed.clear();
        break;
      }
      if (exclusive(narrowed, written[j])) continue;
      auto others = negated(schemas[j], here(j), depth + 1);
      std::ranges::move(beyond(written[i], written[j]), std::back_inserter(others.list));
      // A part of what doesn't fit the other schemas is enough; each alternative gets its share.
      List next;
      for (const auto& one : narrowed) {
        std::ranges::move(cross({one}, others.list, at, depth, 1 + share / narrowed.size()), std::back_inserter(next));
      }
      exact = !spent() && (!next.empty() || others.exact);
      narrowed = std::move(next);
    }
    if (!exact) report("oneOf", at, "its schemas overlap, so it is treated as anyOf");
    std::ranges::move(exact ? narrowed : some, std::back_inserter(result));
    if (result.size() > kMaxVariants) throw SchemaFault{here(i), "has too many alternatives: make the schema smaller"};
  }
  return result;
}

Variants::List Variants::without(const List& all, const Value& schema, const std::string& at, std::size_t depth) {
  const auto others = negated(schema, pointer_to(at, "not"), depth + 1);
  List made;
  for (const auto& one : all) {
    std::ranges::move(cross({one}, others.list, at, depth, std::max<std::size_t>(1, kMaxVariants / 2 / all.size())),
                      std::back_inserter(made));
  }
  if ((others.list.empty() && !others.exact) || (made.empty() && spent())) {
    report("not", at, "");
    return all;
  }
  return made;
}

Variants::List Variants::conditional(const List& all, const Object& schema, const std::string& at, std::size_t depth) {
  const auto *then = schema.if_contains("then"), *otherwise = schema.if_contains("else");
  const auto& condition = schema.at("if");
  if (!then && !otherwise && !condition.is_object()) return all;
  const auto here = pointer_to(at, "if");
  auto others = negated(condition, here, depth + 1);
  if ((others.list.empty() && !others.exact) || spent() || all.size() > kMaxVariants / 4) {
    if (then || otherwise) report("if", at, others.list.empty() ? "" : "with the rest it has too many alternatives");
    return all;
  }
  auto made = cross(all, expand(condition, here, depth + 1), at, depth);
  if (then) made = cross(made, expand(*then, pointer_to(at, "then"), depth + 1), at, depth);
  auto second = cross(all, others.list, at, depth);
  if (otherwise) second = cross(second, expand(*otherwise, pointer_to(at, "else"), depth + 1), at, depth);
  std::ranges::move(second, std::back_inserter(made));
  return made;
}

// Either the property is missing, or its dependents are present.
Variants::List Variants::dependents(const List& all, std::string_view keyword, const Value& value,
                                    const std::string& at, std::size_t depth) {
  auto made = all;
  for (const auto& [name, dependent] : value.as_object()) {
    List present{Object{{"required", Array{Value(name)}}}};
    if (dependent.is_array()) {
      auto& names = present.front()["required"].as_array();
      for (const auto& one : dependent.as_array()) {
        if (one.is_string() && one != Value(name)) names.push_back(one);
      }
      if (names.size() == 1) continue;
    } else if (dependent.is_object() || dependent.is_bool()) {
      if (dependent == Value(true)) continue;
      present = cross(present, expand(dependent, pointer_to(pointer_to(at, keyword), name), depth + 1), at, depth);
    } else {
      continue;
    }
    present.insert(present.begin(), absent(name));
    if (spent() || made.size() * present.size() > kMaxVariants / 2) {
      report(keyword, at, "with the rest it has too many alternatives");
      return made;
    }
    made = cross(made, present, at, depth);
  }
  return made;
}

// What no list of a variant names has this schema: it is the schema of one more list.
Variants::List Variants::unevaluated_properties(List all, const Value& schema, const std::string& at,
                                                std::size_t depth) {
  all = write_out(all, at, depth);
  for (auto& variant : all) {
    Object names, patterns;
    bool evaluated = false;
    if (const auto* lists = variant.if_contains("members")) {
      for (const auto& one : lists->as_array()) {
        const auto& members = one.as_object();
        if (members.contains("silent")) continue;
        evaluated = evaluated || members.contains("additionalProperties");
        if (const auto* own = members.if_contains("properties")) {
          for (const auto& member : own->as_object()) names[member.key()] = true;
        }
        if (const auto* own = members.if_contains("patternProperties")) {
          for (const auto& member : own->as_object()) patterns[member.key()] = true;
        }
      }
    }
    if (evaluated) continue;
    Object more{{"additionalProperties", schema}};
    if (!names.empty()) more["properties"] = std::move(names);
    if (!patterns.empty()) more["patternProperties"] = std::move(patterns);
    if (!variant.contains("members")) variant["members"] = Array();
    variant["members"].as_array().push_back(std::move(more));
    count(variant, at);
  }
  return all;
}

// Items that `contains` finds count as evaluated too; the grammar is narrower there.
Variants::List Variants::unevaluated_items(List all, const Value& schema, const std::string& at, std::size_t depth) {
  all = write_out(all, at, depth);
  for (auto& variant : all) {
    Object more{{"items", schema}};
    if (!variant.contains("negated")) {
      if (variant.contains("items")) continue;
      if (const auto* first = variant.if_contains("prefixItems")) {
        more["prefixItems"] = Array(first->as_array().size(), Value(true));
      }
    }
    bool inexact = false;
    variant = conjunction(std::move(variant), more, inexact);
  }
  return all;
}

bool Variants::keep(Object& plain) {
  if (plain.size() > 1 && plain.contains("enum") && !is_ref(plain)) {
    Array fitting;
    try {
      for (const auto& value : plain.at("enum").as_array()) {
        if (evaluator_.fits_plain(plain, value)) fitting.push_back(value);
      }
      plain["enum"] = std::move(fitting);
    } catch (const NotEvaluated&) {        // reported with the rules of its values
    } catch (const TooComplex&) {          // as above
    } catch (const UnsupportedPattern&) {  // as above
    }
  }
  return prune(plain);
}

Variants::List Variants::cross(const List& some, const List& others, const std::string& at, std::size_t depth,
                               std::size_t most) {
  List all;
  std::vector<std::size_t> hashes;
  const auto is_new = [&](const Object& made) {
    const auto hash = std::hash<Object>()(made);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (hashes[i] == hash && all[i] == made) return false;
    }
    hashes.push_back(hash);
    return true;
  };
  for (const auto& one : some) {
    for (const auto& other : others) {
      if (most > 0 && (all.size() >= most || spent())) return all;
      if (one.empty() || other.empty()) {
        const auto& made = one.empty() ? other : one;
        count(made, at);
        if (is_new(made)) all.push_back(made);
        continue;
      }
      for (const auto& first : expand_ref(one, at, depth)) {
        for (const auto& second : expand_ref(other, at, depth)) {
          bool inexact = false;
          auto made = conjunction(first, second, inexact);
          count(made, at);
          if (!keep(made) || !is_new(made)) continue;
          all.push_back(std::move(made));
          if (most > 0 && all.size() >= most) return all;
          if (inexact) report("allOf", at, "its parts depend on each other");
          if (all.size() > kMaxVariants) {
            throw SchemaFault{at, "has too many alternatives: make the schema smaller"};
          }
        }
      }
    }
  }
  return all;
}

}  // namespace corral::json_schema
