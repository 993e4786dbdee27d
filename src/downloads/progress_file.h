// What of a file is on disk already, written down beside it, so that a process that was killed goes on. A record is
// written only after the bytes that it names. Pure, but for the two that say so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "downloads/ranges.h"

namespace corral::downloads {

struct Progress {
  std::uint64_t size = 0;  // of the whole file, bytes
  RangeSet done = {};
};

std::string write_progress(const Progress& progress);
// Nothing for a text that is no record, or one of a file of another size.
std::optional<Progress> read_progress(std::string_view text, std::uint64_t size);

// Blocking. What is there of the file; nothing where there is no record, or none that fits.
Progress load_progress(const std::filesystem::path& path, std::uint64_t size);
// Blocking; the old record or the new one, never half of one. Errors: disk_full, disk_failed.
Result<> save_progress(const std::filesystem::path& path, const Progress& progress);

}  // namespace corral::downloads
