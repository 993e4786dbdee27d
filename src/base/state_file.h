// Small files that outlive a run: written whole or not at all, and renamed if unreadable. The functions block for a few
// system calls, on any thread; users of a file must write it one at a time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace corral {

// The text, or its first `max` bytes. Nothing: the file doesn't exist. Errors: system errors.
Result<std::optional<std::string>> read_state_file(const std::filesystem::path& path,
                                                   std::size_t max = std::numeric_limits<std::size_t>::max());

// The event that a written file must survive. For a power loss the call waits for the disk, for the file and all
// folders above it: milliseconds, more on a busy disk.
enum class Durability { crash, power_loss };

// Replaces the file, and creates its folder if necessary: readers get the old text or the new one, also after a crash
// of this process. Only the user may read it. Errors: system errors, with the path in the message.
Result<> write_state_file(const std::filesystem::path& path, std::string_view text,
                          Durability what = Durability::crash);

// The same for a file that a user wrote: a file that exists keeps its group and its permissions. Survives a power loss.
// Errors: system errors; operation_not_permitted if this user may not give a file that group.
Result<> replace_user_file(const std::filesystem::path& path, std::string_view text);

// Waits until the names in a folder are on the disk: a sync of a file doesn't include its name. Returns the system's
// error.
std::error_code sync_folder(const std::filesystem::path& folder);

// Renames an unreadable file to PATH.broken (.broken-2, ...), so that the next write doesn't destroy it. Returns the
// new name; empty: it couldn't be renamed.
std::filesystem::path set_aside(const std::filesystem::path& path);

}  // namespace corral
