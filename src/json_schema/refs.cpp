#include "json_schema/refs.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "json_schema/keywords.h"
#include "json_schema/pointers.h"

namespace corral::json_schema {
namespace {

using json::Object;
using json::Value;

constexpr std::size_t kMaxText = 32 * 1024 * 1024;  // of all pointers and URIs that are made

// Keywords whose values are no schemas.
bool is_data(std::string_view name) {
  return name == "enum" || name == "const" || name == "default" || name == "examples" || name == "example";
}
// Keywords with an object whose members are schemas, so that "$ref" in it is a name.
bool has_names(std::string_view name) {
  static constexpr std::string_view kNamed[] = {"properties",  "patternProperties", "$defs",
                                                "definitions", "dependentSchemas",  "dependencies"};
  return std::ranges::find(kNamed, name) != std::end(kNamed);
}

std::string_view without_fragment(std::string_view uri) { return uri.substr(0, uri.find('#')); }

bool has_scheme(std::string_view uri) {
  const auto end = uri.find_first_of(":/?#");
  return end != std::string_view::npos && end > 0 && uri[end] == ':';
}

// Removes "." and ".." from the path behind `begin`.
std::string without_dots(std::string uri, std::size_t begin) {
  std::vector<std::string> parts;
  std::string_view rest = std::string_view(uri).substr(begin);
  for (;;) {
    const auto end = std::min(rest.find('/'), rest.size());
    const auto part = rest.substr(0, end);
    const bool last = end == rest.size();
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else if (part != ".") {
      parts.emplace_back(part);
    }
    if (last) break;
    rest.remove_prefix(end + 1);
  }
  auto made = uri.substr(0, begin);
  for (std::size_t i = 0; i < parts.size(); ++i) made += (i ? "/" : "") + parts[i];
  return made;
}

// A reference relative to a URI without a fragment (RFC 3986, without the rare forms).
std::string joined(std::string_view base, std::string_view ref) {
  if (has_scheme(ref)) return std::string(ref);
  if (ref.empty() || ref[0] == '#') return std::string(base) + std::string(ref);
  const auto scheme = base.find("://");
  const auto path = scheme == std::string_view::npos ? 0 : std::min(base.find('/', scheme + 3), base.size());
  if (ref.starts_with("//")) return std::string(base.substr(0, base.find(':') + 1)) + std::string(ref);
  if (ref[0] == '/') return std::string(base.substr(0, path)) + std::string(ref);
  const auto last = base.rfind('/');
  const bool below = last != std::string_view::npos && last >= path;
  auto made = std::string(base.substr(0, below ? last : path)) + (below || path > 0 ? "/" : "") + std::string(ref);
  return without_dots(std::move(made), std::min(path + 1, made.size()));
}

std::string_view text_of(const Object& schema, std::string_view name) {
  const auto* value = schema.if_contains(name);
  return value && value->is_string() ? std::string_view(value->as_string()) : std::string_view();
}

// "id" is a keyword in draft 4 only; elsewhere it is data.
std::string_view id_of(const Object& schema, bool draft4) {
  if (schema.contains("$ref") && draft4) return {};
  const auto id = text_of(schema, "$id");
  return id.empty() && draft4 ? text_of(schema, "id") : id;
}

class References {
 public:
  explicit References(const Value& root)
      : root_(root),
        draft4_(root.is_object() && (text_of(root.as_object(), "$schema").contains("draft-04") ||
                                     text_of(root.as_object(), "$schema").contains("draft-03"))) {
    places_.emplace("", "#");
    collect(root, "", "#", false);
  }

  bool needed() const { return needed_; }

  Value rewritten(const Value& value, const std::string& base, bool names) const {
    if (value.is_array()) {
      json::Array all;
      for (const auto& one : value.as_array()) all.push_back(rewritten(one, base, false));
      return all;
    }
    if (!value.is_object()) return value;
    const auto& object = value.as_object();
    const auto own = names ? base : base_of(object, base);
    Object made;
    for (const auto& [name, inner] : object) {
      const bool single = !names && name == "$dynamicRef" && inner.is_string() && !object.contains("$ref") &&
                          dynamic_.count(joined_name(inner.as_string())) <= 1;
      if (!names && inner.is_string() && (name == "$ref" || single)) {
        const auto found = pointer(own, inner.as_string());
        spend(found.size());
        const bool known = !found.empty();
        made[known || name == "$ref" ? std::string_view("$ref") : std::string_view(name)] =
            known ? Value(found) : inner;
      } else {
        made[name] = !names && is_data(name) ? inner : rewritten(inner, own, !names && has_names(name));
      }
    }
    return made;
  }

 private:
  static std::string joined_name(std::string_view ref) {
    const auto at = ref.find('#');
    return at == std::string_view::npos ? std::string() : std::string(ref.substr(at + 1));
  }

  std::string base_of(const Object& schema, const std::string& base) const {
    const auto id = id_of(schema, draft4_);
    if (id.empty() || id[0] == '#') return base;
    spend(base.size() + id.size());
    return std::string(without_fragment(joined(base, id)));
  }

  void collect(const Value& value, const std::string& base, const std::string& at, bool names) {
    if (value.is_array()) {
      for (std::size_t i = 0; i < value.as_array().size(); ++i) {
        spend(at.size());
        collect(value.as_array()[i], base, at + "/" + std::to_string(i), false);
      }
    }
    if (!value.is_object()) return;
    const auto& object = value.as_object();
    const auto own = names ? base : base_of(object, base);
    if (!names) {
      if (own != base || at == "#") places_.emplace(own, at);
      if (own != base && at != "#") needed_ = true;
      if (const auto id = id_of(object, draft4_); id.starts_with('#') && id.size() > 1) {
        places_.emplace(own + std::string(id), at);
      }
      for (const auto* anchor : {"$anchor", "$dynamicAnchor"}) {
        const auto name = text_of(object, anchor);
        if (name.empty()) continue;
        spend(own.size() + name.size() + at.size());
        places_.emplace(own + "#" + std::string(name), at);
        if (anchor[1] == 'd') dynamic_.emplace(name, at);
      }
      if (const auto ref = text_of(object, "$ref"); !ref.empty() && ref != "#" && !ref.starts_with("#/")) {
        needed_ = true;
      }
      if (object.contains("$dynamicRef")) needed_ = true;
    }
    for (const auto& [name, inner] : object) {
      if (!names && is_data(name)) continue;
      spend(at.size() + name.size());
      collect(inner, own, pointer_to(at, name), !names && has_names(name));
    }
  }

  // Long names would be copied for each part below them.
  void spend(std::size_t bytes) const {
    text_ += bytes;
    if (text_ > kMaxText) {
      throw SchemaFault{"#", fmt::format("has more than {} MiB of names of its parts: shorten them", kMaxText >> 20)};
    }
  }

  // Empty: it isn't in this schema. Pointers from a part with an own "$id" that mean the whole schema are common.
  std::string pointer(const std::string& base, std::string_view ref) const {
    auto found = pointer_by_uri(base, ref);
    if (found.empty() || !ref.starts_with("#/") || found == ref) return found;
    try {
      resolve(root_, found, "#");
    } catch (const SchemaFault&) {
      return std::string(ref);
    }
    return found;
  }
  std::string pointer_by_uri(const std::string& base, std::string_view ref) const {
    const auto whole = joined(base, ref);
    const auto mark = std::min(whole.find('#'), whole.size());
    const auto fragment = std::string_view(whole).substr(std::min(mark + 1, whole.size()));
    if (fragment.empty() || fragment[0] == '/') {
      const auto found = places_.find(whole.substr(0, mark));
      return found == places_.end() ? std::string() : found->second + std::string(fragment);
    }
    const auto found = places_.find(whole);
    return found == places_.end() ? std::string() : found->second;
  }

  const Value& root_;
  const bool draft4_;
  bool needed_ = false;
  mutable std::size_t text_ = 0;
  std::map<std::string, std::string, std::less<>> places_;  // pointers, by URI
  std::multimap<std::string, std::string, std::less<>> dynamic_;
};

}  // namespace

bool has_named_refs(const Value& root) { return References(root).needed(); }

Value with_pointers(const Value& root) { return References(root).rewritten(root, "", false); }

}  // namespace corral::json_schema
