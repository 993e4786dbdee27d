// The key file (keys.json of state_dir, mode 0600). The server reads it; `corral key` and the server write it. Each
// change happens under a lock, on the current content, and replaces the whole file. A file without keys still means
// that every request needs a key, until a key is created or the file is removed.
//
// Blocks for a few system calls, on any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "config/files/keys.h"

namespace corral::config {

// Nothing: the file doesn't exist. Errors: malformed_file, unreadable_file (also if it belongs to another user, or
// others may write it).
Result<std::optional<KeyList>> read_key_file(const std::filesystem::path& path);

// Adds a key, and creates the file if necessary. Errors: those of read_key_file() and add_key(), not_saved.
Result<NewKey> create_key(const std::filesystem::path& path, std::string name, Scopes scopes, std::int64_t now_millis,
                          KeyTerms terms = {});

// Removes a key, by its identifier, or by its name if only one key has it. Errors: those of read_key_file(),
// no_such_key, not_saved.
struct RevokedKey {
  Key key;
  std::size_t left = 0;  // keys that remain
};
Result<RevokedKey> revoke_key(const std::filesystem::path& path, std::string_view which);

// Times of last use of keys, in milliseconds since the epoch, by identifier: a separate file, which only the server
// writes. An unreadable one counts as empty.
using KeyUses = std::map<std::string, std::int64_t, std::less<>>;
KeyUses read_key_uses(const std::filesystem::path& path);
Result<> write_key_uses(const std::filesystem::path& path, const KeyUses& uses);

}  // namespace corral::config
