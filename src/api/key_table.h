// The keys that count at one moment, made for looking them up: one hash and one comparison for a key of the file,
// whatever is sent. Immutable but for the times of use; safe on every loop.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "config/key_file.h"

namespace corral::api {

// How the key of the settings is called where keys have identifiers.
inline constexpr std::string_view kSettingsKey = "api_key";

class KeyTable {
 public:
  // Nobody is asked for a key.
  KeyTable() = default;
  // `api_key` has all rights; empty: there is none. No list: there is no file of keys. `uses`: as far as they are
  // known.
  KeyTable(std::string api_key, const std::optional<config::KeyList>& keys, const config::KeyUses& uses);

  // Nobody comes in without a key. False: everybody is known.
  bool asks() const { return asks_; }
  struct Found {
    std::string_view id;  // valid as long as the table
    std::uint32_t rights = 0;
  };
  // What the key with this identifier was made with; nothing special for one that isn't there any more.
  config::KeyTerms terms(std::string_view id) const;
  // Notes that the key was used. Takes the same time for each wrong key of the right form.
  std::optional<Found> find(std::string_view sent, WallTime now) const;
  // By identifier; keys that were never used are left out.
  config::KeyUses uses() const;

 private:
  struct Entry {
    Sha256 digest;
    std::uint32_t rights = 0;
    config::KeyTerms terms;
    mutable std::atomic<std::int64_t> used{0};  // milliseconds since the epoch, 0: never
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  bool asks_ = false;
  std::string api_key_;
  std::string salt_;
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries_;
};

}  // namespace corral::api
