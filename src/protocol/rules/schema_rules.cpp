// Rules for JSON schemas of answers and tools. The time to make a grammar doubles with each list of types around
// another; its stack is as deep as the schema. Accepted schemas take a moment.
#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "json/value.h"
#include "json_schema/problems.h"
#include "json_schema/refs.h"
#include "protocol/errors.h"
#include "protocol/rules/rules.h"

namespace corral::protocol {
namespace {

using json::View;

class Schema {
 public:
  Schema(View root, const Path& path) : root_(root), path_(path) {}

  Result<> check() {
    // Unreferenced definitions, and the length of values, are counted nowhere else.
    limit("bytes", root_.bytes(), SchemaLimits::kBytes, "make it smaller");
    visit(root_, {.depth = 1});
    // Each target is built once, for all references.
    for (std::size_t done = 0; done < targets_.size() && result_; ++done) visit(targets_[done], {.depth = 1});
    return result_;
  }

 private:
  struct Place {
    std::size_t depth = 0;
    std::size_t names = 0;   // bytes of the names of all properties on the path
    std::size_t copies = 1;  // a list of types copies its inner schemas for each type
  };

  void refuse(std::string reason) {
    if (!result_) return;
    auto where = path_.text();
    result_ = fail(errc::bad_value, fmt::format("'{}' {}", where, reason), where);
  }
  void limit(std::string_view what, std::size_t have, std::size_t max, std::string_view instead) {
    if (have > max) refuse(fmt::format("has {} {}, at most {} are allowed: {}", have, what, max, instead));
  }

  void visit(View node, Place place) {
    if (!result_ || !node.is_object()) return;
    if (const auto types = node.find("type"); types.is_array()) {
      limit("types in one list", types.size(), SchemaLimits::kTypes, "omit some");
      place.copies *= std::max<std::size_t>(1, types.size());
    }
    nodes_ += place.copies;
    if (nodes_ > SchemaLimits::kNodes) {
      return refuse(
          fmt::format("expands to more than {} parts (each type of a list counts its contents again): make it smaller",
                      SchemaLimits::kNodes));
    }
    if (place.depth > SchemaLimits::kDepth) {
      return refuse(fmt::format("nests more than {} deep: move parts to '$defs' and use '$ref'", SchemaLimits::kDepth));
    }
    ++place.depth;
    // Names of anchors and URIs are followed by the converter only, which limits its work, too.
    const auto ref = node.find("$ref").as_string();
    limit("bytes in a '$ref'", ref.size(), SchemaLimits::kRef, "shorten it");
    if (ref == "#" || ref.starts_with("#/")) refer(ref);
    node.each_member([&](std::string_view name, View value) { member(name, value, place); });
  }

  void member(std::string_view name, View value, const Place& place) {
    if (name == "properties") return properties(value, place);
    if (name == "items" || name == "additionalProperties" || name == "prefixItems") {
      value.each_element([&](View one) { visit(one, place); });
      return visit(value, place);
    }
    if (name == "anyOf" || name == "oneOf" || name == "allOf") {
      if (name == "allOf") all_of(value);
      return value.each_element([&](View one) { visit(one, place); });
    }
    static constexpr std::string_view kOne[] = {
        "not", "if", "then", "else", "contains", "unevaluatedProperties", "unevaluatedItems", "propertyNames"};
    if (std::ranges::find(kOne, name) != std::end(kOne)) return visit(value, place);
    if (name == "patternProperties" || name == "dependentSchemas" || name == "dependencies") {
      return value.each_member([&](std::string_view part, View one) {
        if (name == "patternProperties") limit("bytes in a pattern", part.size(), SchemaLimits::kPattern, "shorten it");
        visit(one, place);
      });
    }
    if (name == "enum") {
      values_ += value.size() * place.copies;
      limit("values in its lists", values_, SchemaLimits::kValues, "use a pattern, or a type alone");
    }
    if (name == "pattern") limit("bytes in a pattern", value.as_string().size(), SchemaLimits::kPattern, "shorten it");
  }

  void properties(View properties, const Place& place) {
    std::size_t all = 0;
    properties.each_member([&](std::string_view name, View value) {
      ++all;
      auto inner = place;
      inner.names += name.size() + 1;
      limit("bytes in the names of properties, one inside the other,", inner.names, SchemaLimits::kNames,
            "shorten them, or move parts to '$defs' and use '$ref'");
      visit(value, inner);
      return result_.has_value();
    });
    count(all);
  }

  void count(std::size_t properties) {
    limit("properties in one object", properties, SchemaLimits::kProperties, "split the object");
  }

  // Its parts become one object with all their properties.
  void all_of(View parts) {
    std::size_t all = 0;
    parts.each_element([&](View part) {
      if (const auto choices = part.find("anyOf"); choices.is_array()) {
        choices.each_element([&](View choice) {
          all += size_of(choice);
          return result_.has_value();
        });
      } else {
        all += size_of(part);
      }
      return result_.has_value();
    });
    count(all);
  }

  std::size_t size_of(View part) {
    for (std::size_t hops = 0; hops < SchemaLimits::kHops; ++hops) {
      const auto ref = part.find("$ref");
      if (ref.is_null()) break;
      part = target(ref.as_string());
    }
    return part.find("properties").size();
  }

  void refer(std::string_view ref) {
    if (!followed_.emplace(ref).second) return;
    auto at = target(ref);
    if (!result_) return;
    targets_.push_back(at);
    for (std::size_t hops = 0; at.find("$ref").as_string().starts_with('#'); ++hops) {
      if (hops == SchemaLimits::kHops) {
        return refuse(fmt::format("has the '$ref' \"{}\", which never reaches a schema: correct it", ref));
      }
      at = target(at.find("$ref").as_string());
    }
  }

  // The target of "#/$defs/x"; nothing if it is missing, which the engine reports, or has another form.
  View target(std::string_view ref) {
    if (const auto known = refs_.find(ref); known != refs_.end()) return known->second;
    // A lookup may read the whole text, so their number is limited first.
    limit("bytes in a '$ref'", ref.size(), SchemaLimits::kRef, "shorten it");
    limit("different '$ref's", refs_.size() + 1, SchemaLimits::kRefs, "inline some of them");
    if (!result_) return {};
    if (ref != "#" && !ref.starts_with("#/")) return {};
    View at = root_;
    auto rest = ref;
    rest.remove_prefix(std::min(rest.find('/'), rest.size()));
    while (!rest.empty() && at.found()) {
      rest.remove_prefix(1);
      const auto end = std::min(rest.find('/'), rest.size());
      at = child(at, rest.substr(0, end));
      rest.remove_prefix(end);
    }
    return refs_.emplace(ref, at).first->second;
  }

  static View child(View at, std::string_view name) {
    if (at.is_object()) return at.find(name);
    std::size_t index = 0, here = 0;
    View found;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    if (parsed.ec != std::errc()) return found;
    at.each_element([&](View element) {
      if (here == index) found = element;
      return here++ < index;
    });
    return found;
  }

  const View root_;
  const Path& path_;
  Result<> result_;
  std::size_t nodes_ = 0, values_ = 0;
  std::map<std::string, View, std::less<>> refs_;  // their targets
  std::set<std::string, std::less<>> followed_;
  std::vector<View> targets_;
};

}  // namespace

Result<> check_schema(View schema, const Path& path) { return Schema(schema, path).check(); }

Result<> check_tool_schema(View schema, const Path& path) {
  std::unordered_set<std::string_view> required;
  schema.find("required").each_element([&](View name) { required.insert(name.as_string()); });
  std::size_t optional = 0;
  schema.find("properties").each_member([&](std::string_view name, View) {
    optional += required.contains(name) ? 0 : 1;
  });
  if (optional > SchemaLimits::kOptional) {
    const auto where = path.text();
    return fail(errc::bad_value,
                fmt::format("'{}' has {} optional properties, at most {} are allowed: list more of them in 'required'",
                            where, optional, SchemaLimits::kOptional),
                where);
  }
  return check_schema(schema, path);
}

Result<> check_strict_schema(View schema, const Path& path) {
  if (schema.is_null()) return {};
  const auto value = json::parse(schema.text());
  if (!value) return std::unexpected(value.error());
  const auto field = path.text();
  try {
    const auto root = json_schema::with_pointers(*value);
    for (const auto& one : json_schema::check_keywords(root, root, "#", nullptr)) {
      if (!one.annotation) return fail(errc::bad_value, json_schema::describe_refused(one, field), field);
    }
    return {};
  } catch (const json_schema::SchemaFault& fault) {
    return fail(errc::bad_value, json_schema::describe(fault, field), field);
  }
}

}  // namespace corral::protocol
