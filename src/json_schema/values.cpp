#include "json_schema/values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

namespace corral::json_schema {
namespace {

using json::Value;

// Equal for all that is the same().
std::size_t hash_of(const Value& value) {
  constexpr std::size_t kMixer = 0x9E3779B97F4A7C15u;
  if (value.is_number()) return std::hash<double>()(value.to_number<double>());
  if (value.is_string()) return std::hash<std::string_view>()(value.as_string());
  std::size_t hash = static_cast<std::size_t>(value.kind()) + (value.is_bool() && value.as_bool() ? 1 : 0) * kMixer;
  if (value.is_array()) {
    for (const auto& one : value.as_array()) hash = (hash ^ hash_of(one)) * kMixer;
  } else if (value.is_object()) {
    for (const auto& [name, one] : value.as_object()) {  // in any order
      hash += (std::hash<std::string_view>()(name) ^ hash_of(one) * kMixer) * kMixer;
    }
  }
  return hash;
}

}  // namespace

bool is_integer(const Value& value) {
  return value.is_int64() || value.is_uint64() ||
         (value.is_double() && std::isfinite(value.as_double()) && value.as_double() == std::trunc(value.as_double()));
}

bool has_type(const Value& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "integer") return is_integer(value);
  return type == "boolean" ? value.is_bool() : type == "null" && value.is_null();
}

bool same(const Value& one, const Value& other) {
  if (one.is_number() && other.is_number() && (one.is_double() || other.is_double())) {
    return one.to_number<double>() == other.to_number<double>();
  }
  if (one.is_array() && other.is_array()) {
    return std::ranges::equal(one.as_array(), other.as_array(), same);
  }
  if (one.is_object() && other.is_object()) {
    return one.as_object().size() == other.as_object().size() &&
           std::ranges::all_of(one.as_object(), [&](const auto& member) {
             const auto* facing = other.as_object().if_contains(member.key());
             return facing && same(member.value(), *facing);
           });
  }
  return one == other;
}

bool ValueSet::contains(const Value& value) const {
  const auto [begin, end] = values_.equal_range(hash_of(value));
  return std::any_of(begin, end, [&](const auto& known) { return same(*known.second, value); });
}

bool ValueSet::insert(const Value& value) {
  const auto hash = hash_of(value);
  const auto [begin, end] = values_.equal_range(hash);
  if (std::any_of(begin, end, [&](const auto& known) { return same(*known.second, value); })) return false;
  values_.emplace(hash, &value);
  return true;
}

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

}  // namespace corral::json_schema
