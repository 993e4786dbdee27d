#include "json_schema/variants.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include <fmt/format.h>

#include "json_schema/combinators.h"
#include "json_schema/conjunction.h"
#include "json_schema/evaluate.h"
#include "json_schema/exclusion.h"
#include "json_schema/pattern.h"
#include "json_schema/pointers.h"
#include "json_schema/unevaluated.h"
#include "json_schema/values.h"

namespace corral::json_schema {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr std::size_t kMaxSteps = 20'000;             // schemas that are expanded or negated, each time
constexpr std::size_t kMaxCopies = 32 * 1024 * 1024;  // of all copies
constexpr std::size_t kMaxHops = 64;
constexpr std::size_t kStep = 20;  // work of one, as Languages::spend() counts it

std::size_t values_in(const Object& plain) {
  const auto* list = plain.if_contains("enum");
  return list ? list->as_array().size() : 0;
}

bool is_ref(const Object& variant) { return variant.contains("$ref"); }

}  // namespace

void Variants::report(std::string_view keyword, const std::string& at, std::string reason) {
  Unenforced one{std::string(keyword), pointer_to(at, keyword), std::move(reason)};
  if (std::ranges::find(unenforced_, one) == unenforced_.end()) unenforced_.push_back(std::move(one));
}

void Variants::step(const std::string& at) {
  languages_.spend(kStep);
  if (++steps_ > kMaxSteps) {
    throw SchemaFault{at, fmt::format("has combinations of more than {} schemas: use fewer or smaller ones in its "
                                      "anyOf, oneOf, allOf, not and if",
                                      kMaxSteps)};
  }
}

void Variants::refuse_more(const std::string& at) {
  throw SchemaFault{
      at, fmt::format("has more than {} alternatives: use fewer in its anyOf, oneOf and allOf", kMaxVariants)};
}

bool Variants::spent() const { return bytes_ > kMaxCopies / 2 || steps_ > kMaxSteps / 2; }

void Variants::count(const Object& made, const std::string& at) {
  const auto before = bytes_;
  for (const auto& [name, value] : made) bytes_ += name.size() + size_of(value);
  languages_.spend((bytes_ - before) / 64);
  if (bytes_ > kMaxCopies) {
    throw SchemaFault{at,
                      fmt::format("needs more than {} MiB for copies of its alternatives: use fewer or smaller ones",
                                  kMaxCopies >> 20)};
  }
}

Variants::List Variants::of(const Value& schema, const std::string& at) { return expand(schema, at, 0); }

Variants::List Variants::written_out(const Value& schema, const std::string& at) {
  return write_out(of(schema, at), at, 0);
}

Variants::List Variants::write_out(const List& some, const std::string& at, std::size_t depth) {
  List all;
  for (const auto& one : some) std::ranges::move(expand_ref(one, at, depth), std::back_inserter(all));
  return all;
}

Variants::List Variants::expand(const Value& schema, const std::string& at, std::size_t depth) {
  step(at);
  if (depth > kMaxHops) {
    throw SchemaFault{at, fmt::format("has references and lists of schemas more than {} inside each other, perhaps "
                                      "without an end: correct its '$ref's",
                                      kMaxHops)};
  }
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
  if (const auto* list = object.if_contains("oneOf")) all = one_of(*this, all, *list, at, depth);
  if (const auto* inner = object.if_contains("not")) all = without(*this, all, *inner, at, depth);
  if (object.contains("if")) all = conditional(*this, all, object, at, depth);
  for (const auto* keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    const auto* names = object.if_contains(keyword);
    if (names && names->is_object()) all = dependents(*this, all, keyword, *names, at, depth);
  }
  if (const auto* inner = object.if_contains("unevaluatedItems"); inner && *inner != Value(true)) {
    all = write_out(all, at, depth);
    for (auto& variant : all) {
      // Another alternative that fits, too, and `contains` evaluate more.
      if (all.size() > 1 || variant.contains("contains") || variant.contains("negated")) narrow();
      restrict_items(variant, *inner);
    }
  }
  if (const auto* inner = object.if_contains("unevaluatedProperties")) {
    all = write_out(all, at, depth);
    for (auto& variant : all) {
      if (!restrict_properties(variant, *inner)) continue;
      count(variant, at);
      if (all.size() > 1) narrow();
    }
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
    if (all.size() > kMaxVariants) refuse_more(here);
  }
  return all;
}

bool Variants::exclusive(const List& some, const List& others) {
  const auto before = comparisons_;
  const bool all = std::ranges::all_of(some, [&](const Object& one) {
    return std::ranges::all_of(
        others, [&](const Object& other) { return exclude_each_other(one, other, strict_, comparisons_); });
  });
  languages_.spend((before - comparisons_) / 4);
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
                               std::size_t max) {
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
      if (max > 0 && (all.size() >= max || spent())) {
        narrow();
        return all;
      }
      if (one.empty() || other.empty()) {
        const auto& made = one.empty() ? other : one;
        count(made, at);
        if (is_new(made)) all.push_back(made);
        continue;
      }
      for (const auto& first : expand_ref(one, at, depth)) {
        for (const auto& second : expand_ref(other, at, depth)) {
          if (max > 0 && all.size() >= max) {
            narrow();
            return all;
          }
          bool inexact = false;
          languages_.spend(values_in(first) + values_in(second));
          auto made = conjunction(first, second, inexact);
          count(made, at);
          if (!keep(made) || !is_new(made)) continue;
          all.push_back(std::move(made));
          if (inexact) report("allOf", at, "its parts depend on each other");
          if (all.size() > kMaxVariants) {
            refuse_more(at);
          }
        }
      }
    }
  }
  return all;
}

}  // namespace corral::json_schema
