// The file of keys (keys.json of state_dir, mode 0600): read by the server and written by whoever may write to the
// folder, `corral key` and the server itself. Each change is made under a lock, on what is there then, and replaces the
// file as a whole. A file with no key in it still counts: nobody comes in until one is created or the file is removed.
//
// Blocks for a few system calls, on any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "config/keys.h"

namespace corral::config {

// Nothing when there is no such file. Errors: malformed_file, unreadable_file (also for one that is another user's, or
// that others may write).
Result<std::optional<KeyList>> read_key_file(const std::filesystem::path& path);

// Adds a key, making the file if need be. Errors: those of read_key_file() and add_key(), not_saved.
Result<NewKey> create_key(const std::filesystem::path& path, std::string name, Scopes scopes, std::int64_t now_millis,
                          KeyTerms terms = {});

// Takes one away, by its identifier, or by its name if only one has it. Errors: those of read_key_file(), no_such_key,
// not_saved.
struct RevokedKey {
  Key key;
  std::size_t left = 0;  // keys that remain
};
Result<RevokedKey> revoke_key(const std::filesystem::path& path, std::string_view which);

// When keys were last used, in milliseconds since the epoch, by identifier: a file of its own beside the keys, which
// only the server writes. One that can't be read counts as empty.
using KeyUses = std::map<std::string, std::int64_t, std::less<>>;
KeyUses read_key_uses(const std::filesystem::path& path);
Result<> write_key_uses(const std::filesystem::path& path, const KeyUses& uses);

}  // namespace corral::config
