// Keys that clients of a server carry, each with what it is good for. Only what tells a key from others is kept: an
// identifier, which is part of it, and a salted SHA-256 of the whole. One pass of a fast hash is enough, since a key is
// 256 random bits: no dictionary has it, and nobody tries that many. (Words that people choose would want a slow one.)
//
//   corral-k3fq7z2a-6x…   "corral-", eight characters of the identifier, "-", 52 of the secret
//
// Plain values and pure functions; key_file.h keeps them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"
#include "json/value.h"

namespace corral::config {

// inference: to use models, and to see how the server is doing. admin: to decide what it does.
enum class Scope : std::uint8_t { inference, admin };
inline constexpr std::array kScopes = {Scope::inference, Scope::admin};
std::string_view name_of(Scope scope);

struct Scopes {
  bool inference = false;
  bool admin = false;
  friend bool operator==(const Scopes&, const Scopes&) = default;
};
// "inference", "admin", or both with a comma between.
std::string text_of(Scopes scopes);
// Errors: invalid_value, for a name that is none and for no name at all.
Result<Scopes> parse_scopes(const std::vector<std::string>& names);

// How a key's requests share the server with others'.
inline constexpr std::uint32_t kMaxInFlight = 1'000'000;
struct KeyTerms {
  std::uint32_t max_in_flight = 0;  // requests under way at a time; 0: what the settings say
  bool background = false;          // others' requests go first
  friend bool operator==(const KeyTerms&, const KeyTerms&) = default;
};

struct Key {
  std::string id;
  std::string name;  // for people; may be empty
  Scopes scopes;
  KeyTerms terms = {};
  std::int64_t created = 0;  // milliseconds since the epoch
  Sha256 digest{};           // of the salt and the whole key
};

struct KeyList {
  std::string salt;
  std::vector<Key> keys;

  const Key* find(std::string_view id) const;
};

// A new key, added to the list: its record and, this one time, its text. Errors: invalid_value, for a name that is too
// long or not one line of plain characters, and for more keys than anybody needs.
struct NewKey {
  Key key;
  std::string text;
};
Result<NewKey> add_key(KeyList& keys, std::string name, Scopes scopes, std::int64_t now_millis, KeyTerms terms = {});

// The identifier in a key's text; nothing for a text that is no key of ours.
std::optional<std::string_view> id_in(std::string_view key);
Sha256 digest_of(std::string_view salt, std::string_view key);

// The file's text. Errors: malformed_file.
std::string to_text(const KeyList& keys);
Result<KeyList> parse_keys(std::string_view text, const std::string& name);
// Everything but the digest.
json::Object to_json(const Key& key);

}  // namespace corral::config
