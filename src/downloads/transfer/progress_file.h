// The record of a file's bytes on disk, beside the file, so that a killed download can resume. A record is written only
// after its bytes. Pure, except for two functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "downloads/transfer/ranges.h"

namespace corral::downloads {

struct Progress {
  std::uint64_t size = 0;  // of the whole file, bytes
  RangeSet done = {};
};

std::string write_progress(const Progress& progress);
// nullopt: no valid record, or one for another size.
std::optional<Progress> read_progress(std::string_view text, std::uint64_t size);

// Blocking. The recorded bytes of the file; empty without a valid record.
Progress load_progress(const std::filesystem::path& path, std::uint64_t size);
// Blocking; atomic: the old record or the new one is on the disk. Errors: disk_full, disk_failed.
Result<> save_progress(const std::filesystem::path& path, const Progress& progress);

}  // namespace corral::downloads
