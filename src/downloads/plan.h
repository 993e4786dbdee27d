// The resources that a download needs, before it begins.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "downloads/hub/hub.h"
#include "downloads/names.h"

namespace corral::downloads {

// The meaning of a name: its listing, and the files to fetch.
struct Lookup {
  Listing listing = {};
  Variant variant = {};
};
// Asks the hub, or the server of the URL. Errors: those of Hub and choose().
async::Task<Result<Lookup>> look_up(Hub& hub, SourceName source);

struct PlannedFile {
  std::string path = {};
  std::uint64_t size = 0;
  std::uint64_t here = 0;      // bytes that are fetched already
  std::uint64_t reserved = 0;  // bytes that it takes on the disk already
};

struct Plan {
  std::string repo = {};        // "org/repo"; for a URL see models/scan/hub_cache.h
  std::string checkpoint = {};  // "org/repo:Q4_K_M"; or the URL
  Revision at = {};
  std::string tag = {};                  // of the variant
  std::vector<PlannedFile> files = {};   // in the order in which they get their names
  std::filesystem::path main_file = {};  // the name of the last of them, in the cache
  std::filesystem::path cache = {};
  std::uint64_t free_disk = 0;  // bytes
  std::uint64_t keep_free = 0;  // bytes that downloads leave free

  std::uint64_t bytes() const;
  std::uint64_t bytes_here() const;
  std::uint64_t disk_needed() const;
  bool fits_disk() const { return disk_needed() == 0 || disk_needed() + keep_free <= free_disk; }
};

// Blocking: checks which files are in the cache. The caller sets the disk fields.
Plan make_plan(const SourceName& source, const Lookup& found, const std::filesystem::path& cache);

// Rough memory of a model of that size, the only known fact. Includes a tenth and 256 MiB for its KV cache and the
// process.
std::uint64_t memory_by_size(std::uint64_t bytes);
// The inverse: the largest size.
std::uint64_t size_for_memory(std::uint64_t memory);

}  // namespace corral::downloads
