// Finds the models on disk. A scan walks the models directories and the hub cache, reads the headers of files it hasn't
// seen, and yields a Catalog. Between scans it remembers every file's facts by path, size, time and inode, so that
// scanning an unchanged tree opens no file.
//
// scan() and rescan() block on the file system: milliseconds for a warm tree, longer on a cold disk. Call them off the
// loop. catalog() only copies a pointer and is safe on every thread at any time; rescan() is too, two at once both give
// a right catalog and the later one stays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/model_type.h"
#include "base/mutex.h"
#include "base/recipe_table.h"
#include "models/catalog.h"
#include "models/names/aliases.h"
#include "models/names/given_model.h"
#include "models/names/user_models.h"

namespace corral::models {

struct RegistryOptions {
  std::vector<std::filesystem::path> models_dirs;  // searched to all depths; a single .gguf file may stand here too
  std::filesystem::path hub_cache;                 // hub_cache_dir(...); empty or absent: not scanned
  std::vector<std::filesystem::path> ollama_dirs = {};  // see ollama_folder.h
  std::filesystem::path user_models = {};               // user_models.json; empty or absent: none
  std::filesystem::path aliases = {};                   // aliases.json; empty or absent: none
  KnownNames known_names = {};                          // short names of models, here or not; weaker than all others
  std::vector<UserModel> configured = {};               // of the configuration; they precede those of user_models.json
  std::vector<InstalledModel> installed = {};           // of programs of this machine; weaker than all models
  RecipeTable recipes = {};
  std::optional<GivenModel> given = {};  // only this one: the sources above are ignored
  std::size_t max_depth = 16;            // of directories below a models dir
  std::size_t max_files = 100'000;       // directory entries looked at in one scan

  friend bool operator==(const RegistryOptions&, const RegistryOptions&) = default;
};

struct ScanStats {
  std::size_t files = 0;   // GGUF files found
  std::size_t opened = 0;  // of these, read because they were new or changed
};

class FactsCache;  // facts by path and stamp

struct Scan {
  std::shared_ptr<const Catalog> catalog;
  std::shared_ptr<const FactsCache> cache;  // hand it to the next scan
  ScanStats stats;
};

// One scan. `cache` of the scan before, or null.
Scan scan(const RegistryOptions& options, const std::shared_ptr<const FactsCache>& cache);

class Registry {
 public:
  // Starts with an empty catalog; scans nothing.
  explicit Registry(RegistryOptions options);

  std::shared_ptr<const Catalog> catalog() const;
  std::shared_ptr<const Catalog> rescan();
  // Sets the options of further scans.
  void look_at(RegistryOptions options);
  RecipeTable recipes() const;
  ScanStats last_stats() const;

 private:
  mutable Mutex mutex_;  // held to copy or replace what follows, never while scanning
  RegistryOptions options_ GUARDED_BY(mutex_);
  Scan last_ GUARDED_BY(mutex_);
};

}  // namespace corral::models
