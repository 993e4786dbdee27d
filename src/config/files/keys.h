// API keys of clients, with their scopes. The server stores only an identifier, which is part of the key, and a salted
// SHA-256 of the whole key. One pass of a fast hash suffices, because a key has 256 random bits: no dictionary contains
// it. (Passwords of people would need a slow hash.)
//
//   corral-k3fq7z2a-6x…   "corral-", eight characters of the identifier, "-", 52 of the secret
//
// Plain values and pure functions; key_file.h stores them.
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

// inference: use models, and see the server's state. admin: control the server.
enum class Scope : std::uint8_t { inference, admin };
inline constexpr std::array kScopes = {Scope::inference, Scope::admin};
std::string_view name_of(Scope scope);

// What messages say that advise a key on a server that requires none.
inline constexpr std::string_view kOthersAreRejected =
    "all other requests without a key then get 401, except GET /health and /live";

struct Scopes {
  bool inference = false;
  bool admin = false;
  friend bool operator==(const Scopes&, const Scopes&) = default;
};
// "inference", "admin", or both separated by a comma.
std::string text_of(Scopes scopes);
// Errors: invalid_value, for an unknown name or no name.
Result<Scopes> parse_scopes(const std::vector<std::string>& names);

// How requests of a key share the server with others.
inline constexpr std::uint32_t kMaxInFlight = 1'000'000;
struct KeyTerms {
  std::uint32_t max_in_flight = 0;  // running requests at a time; 0: the limit of the settings
  bool background = false;          // runs after requests of others
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

// Adds a new key to the list: returns its record and its text, which isn't stored. Errors: invalid_value, for a name
// that is too long or not one line of plain characters, and for too many keys.
struct NewKey {
  Key key;
  std::string text;
};
Result<NewKey> add_key(KeyList& keys, std::string name, Scopes scopes, std::int64_t now_millis, KeyTerms terms = {});

// The identifier in a key's text; nothing for a text that isn't one of our keys.
std::optional<std::string_view> id_in(std::string_view key);
Sha256 digest_of(std::string_view salt, std::string_view key);

// The file's text. Errors: malformed_file.
std::string to_text(const KeyList& keys);
Result<KeyList> parse_keys(std::string_view text, const std::string& name);
// Everything but the digest.
json::Object to_json(const Key& key);

}  // namespace corral::config
