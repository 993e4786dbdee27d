// What fetching a model would take, before anything is fetched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "downloads/hub.h"
#include "downloads/names.h"

namespace corral::downloads {

// What a name means: where it is, and which of its files.
struct Lookup {
  Listing listing = {};
  Variant variant = {};
};
// Asks the hub, or the server of the address. Errors: those of Hub and choose().
async::Task<Result<Lookup>> look_up(Hub& hub, SourceName source);

struct PlannedFile {
  std::string path = {};
  std::uint64_t size = 0;
  std::uint64_t here = 0;      // bytes that needn't come
  std::uint64_t reserved = 0;  // bytes that it has on the disk already
};

struct Plan {
  std::string repo = {};        // "org/repo"; of an address see models/hub_cache.h
  std::string checkpoint = {};  // "org/repo:Q4_K_M"; an address itself
  Revision at = {};
  std::string tag = {};                  // of the variant
  std::vector<PlannedFile> files = {};   // in the order in which they get their names
  std::filesystem::path main_file = {};  // the name of the last of them, in the cache
  std::filesystem::path cache = {};
  std::uint64_t free_disk = 0;  // bytes
  std::uint64_t keep_free = 0;  // bytes of these that no download takes

  std::uint64_t bytes() const;
  std::uint64_t bytes_here() const;
  std::uint64_t disk_needed() const;
  bool fits_disk() const { return disk_needed() == 0 || disk_needed() + keep_free <= free_disk; }
};

// Blocking: looks at the cache for what is there of it. The disk is the caller's to fill in.
Plan make_plan(const SourceName& source, const Lookup& found, const std::filesystem::path& cache);

// What a model of so many bytes takes in memory, roughly: nothing but its size is known. Its KV cache and the process
// are in it with a tenth of it and 256 MiB.
std::uint64_t memory_by_size(std::uint64_t bytes);
// The reverse: how large it may be.
std::uint64_t size_for_memory(std::uint64_t memory);

}  // namespace corral::downloads
