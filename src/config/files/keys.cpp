#include "config/files/keys.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/secret.h"
#include "config/errors.h"
#include "json/count.h"

namespace corral::config {
namespace {

constexpr int kVersion = 1;
constexpr std::string_view kStart = "corral-";
constexpr std::size_t kIdLength = 8, kSecretLength = 52, kSaltLength = 32;
constexpr std::size_t kMaxKeys = 1000, kLongestName = 64;

bool is_plain(std::string_view name) {
  return std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::optional<Key> parse_key(const json::Value& row) {
  Key key;
  key.id = json::text_or(row, "id", "");
  key.name = json::text_or(row, "name", "");
  key.created = static_cast<std::int64_t>(json::to_count(json::number_or(row, "created", 0)).value_or(0));
  const auto digest = parse_sha256(json::text_or(row, "sha256", ""));
  const auto* const scopes = json::find(row, "scopes");
  if (!digest || key.id.size() != kIdLength || scopes == nullptr || !scopes->is_array()) return std::nullopt;
  std::vector<std::string> names;
  for (const auto& name : scopes->get_array()) {
    if (!name.is_string()) return std::nullopt;
    names.emplace_back(name.get_string());
  }
  const auto parsed = parse_scopes(names);
  if (!parsed) return std::nullopt;
  const auto max = json::to_count(json::number_or(row, "max_in_flight", 0));
  key.terms.max_in_flight = static_cast<std::uint32_t>(std::min<std::uint64_t>(max.value_or(0), kMaxInFlight));
  key.terms.background = json::text_or(row, "priority", "") == "background";
  key.scopes = *parsed;
  key.digest = *digest;
  return key;
}

}  // namespace

std::string_view name_of(Scope scope) { return scope == Scope::admin ? "admin" : "inference"; }

std::string text_of(Scopes scopes) {
  if (scopes.inference && scopes.admin) return "inference,admin";
  return std::string(scopes.admin ? "admin" : "inference");
}

Result<Scopes> parse_scopes(const std::vector<std::string>& names) {
  Scopes scopes;
  for (const auto& name : names) {
    if (name != "inference" && name != "admin")
      return fail(errc::invalid_value, fmt::format("unknown scope '{}': use inference, admin or both", name), "scopes");
    (name == "admin" ? scopes.admin : scopes.inference) = true;
  }
  if (names.empty()) return fail(errc::invalid_value, "a key needs a scope: inference, admin or both", "scopes");
  return scopes;
}

const Key* KeyList::find(std::string_view id) const {
  const auto found = std::ranges::find(keys, id, &Key::id);
  return found == keys.end() ? nullptr : &*found;
}

Result<NewKey> add_key(KeyList& keys, std::string name, Scopes scopes, std::int64_t now_millis, KeyTerms terms) {
  if (name.size() > kLongestName || !is_plain(name))
    return fail(errc::invalid_value,
                fmt::format("the name of a key must be one line of at most {} bytes", kLongestName), "name");
  if (keys.keys.size() >= kMaxKeys)
    return fail(errc::invalid_value, fmt::format("there are already {} keys: revoke unused ones", kMaxKeys), "name");
  if (keys.salt.empty()) keys.salt = random_text(kSaltLength);
  NewKey made;
  do {
    made.key.id = random_text(kIdLength);
  } while (keys.find(made.key.id) != nullptr);
  made.text = fmt::format("{}{}-{}", kStart, made.key.id, random_text(kSecretLength));
  made.key.name = std::move(name);
  made.key.scopes = scopes;
  made.key.terms = terms;
  made.key.created = now_millis;
  made.key.digest = digest_of(keys.salt, made.text);
  keys.keys.push_back(made.key);
  return made;
}

std::optional<std::string_view> id_in(std::string_view key) {
  if (key.size() != kStart.size() + kIdLength + 1 + kSecretLength || !key.starts_with(kStart)) return std::nullopt;
  return key.substr(kStart.size(), kIdLength);
}

Sha256 digest_of(std::string_view salt, std::string_view key) { return sha256({salt, key}); }

json::Object to_json(const Key& key) {
  json::Array scopes;
  if (key.scopes.inference) scopes.emplace_back(name_of(Scope::inference));
  if (key.scopes.admin) scopes.emplace_back(name_of(Scope::admin));
  json::Object row{{"id", key.id}, {"name", key.name}, {"scopes", std::move(scopes)}, {"created", key.created}};
  if (key.terms.max_in_flight > 0) row["max_in_flight"] = key.terms.max_in_flight;
  if (key.terms.background) row["priority"] = "background";
  return row;
}

std::string to_text(const KeyList& keys) {
  json::Array rows;
  for (const Key& key : keys.keys) {
    auto row = to_json(key);
    row["sha256"] = to_hex(key.digest);
    rows.push_back(std::move(row));
  }
  return json::serialize(json::Object{{"version", kVersion}, {"salt", keys.salt}, {"keys", std::move(rows)}}) + "\n";
}

Result<KeyList> parse_keys(std::string_view text, const std::string& name) {
  const auto wrong = [&](std::string_view what) {
    return fail(
        errc::malformed_file,
        fmt::format("the key file {} {}: restore an older copy, or remove it and create the keys again", name, what));
  };
  const auto parsed = json::parse(text);
  if (!parsed) return wrong("isn't JSON (" + parsed.error().message + ")");
  if (json::number_or(*parsed, "version", 0) != kVersion) return wrong("has another version");
  const auto* const rows = json::find(*parsed, "keys");
  KeyList keys{std::string(json::text_or(*parsed, "salt", "")), {}};
  if (rows == nullptr || !rows->is_array() || keys.salt.empty()) return wrong("has no keys and no salt");
  for (const auto& row : rows->get_array()) {
    auto key = parse_key(row);
    if (!key || keys.find(key->id) != nullptr) return wrong("has an unreadable key");
    keys.keys.push_back(std::move(*key));
  }
  return keys;
}

}  // namespace corral::config
