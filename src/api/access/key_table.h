// An immutable table of keys with fast lookup: one hash and one comparison for a key of the file, for any input. Only
// the times of use change; safe on every loop.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "config/files/key_file.h"

namespace corral::api {

// Identifier of the settings' key.
inline constexpr std::string_view kSettingsKey = "api_key";

class KeyTable {
 public:
  // No key is required.
  KeyTable() = default;
  // `api_key` has all rights; empty: none. No list: there is no key file. `uses`: known times of use.
  KeyTable(std::string api_key, const std::optional<config::KeyList>& keys, const config::KeyUses& uses);

  // True: every request needs a key. False: no key is required.
  bool asks() const { return asks_; }
  struct Found {
    std::string_view id;  // valid while the table lives
    std::uint32_t rights = 0;
  };
  // Whether a request with the key of this identifier is accepted now.
  bool admits(std::string_view id) const;
  // The terms of this key; defaults for an unknown key.
  config::KeyTerms terms(std::string_view id) const;
  // Records the time of use. Takes the same time for each wrong key of the right form.
  std::optional<Found> find(std::string_view sent, WallTime now) const;
  // By identifier, without keys that were never used.
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
