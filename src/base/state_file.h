// Small files that outlive a run: written whole or not at all, and put aside when they can't be read. They block for
// the time of a few system calls, on any thread; who shares a file sees to it that one writes at a time.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace corral {

// Nothing when there is no such file. Errors: the system's own.
Result<std::optional<std::string>> read_state_file(const std::filesystem::path& path);

// What a written file has to survive. A power loss costs waiting for the disk, for the file and all folders above it:
// milliseconds, on a busy one more.
enum class Durability { crash, power_loss };

// Replaces the file, making its folder if need be: whoever reads sees the old text or the new one, also after a crash
// of this process. Only the user may read it. Errors: the system's own, with the path in the message.
Result<> write_state_file(const std::filesystem::path& path, std::string_view text,
                          Durability what = Durability::crash);

// Renames a file that nobody can make sense of to PATH.broken (.broken-2, ...), so that nothing of it is lost when the
// next one is written. Returns the new name; empty when it couldn't be renamed.
std::filesystem::path set_aside(const std::filesystem::path& path);

}  // namespace corral
