// Walks the models directories and the hub cache and lists their GGUF files, and those that may be whisper.cpp's
// (.bin). Opens none of them. Directories are sorted, so that the same tree always gives the same list. Each directory
// is entered once, even if several links lead to it; real files come before links. Names that begin with a dot are
// ignored. Blocking file access.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/catalog.h"
#include "models/hash/file_stamp.h"
#include "models/registry.h"

namespace corral::models {

struct FoundFile {
  std::filesystem::path path;      // as it was reached, links not resolved: shards are found by their names
  std::filesystem::path root;      // the models dir, or the hub's snapshot
  std::filesystem::path relative;  // below root
  std::string repo;                // "org/repo" when it lies in the hub's layout
  std::string given = {};          // name by its location (Ollama), instead of the file's name; empty: none
  FileStamp stamp;                 // of what the path leads to
  bool link = false;
};

struct FoundFiles {
  std::vector<FoundFile> files;   // in the order of the options, then of the walk
  std::vector<Problem> problems;  // directories that can't be read, dangling links, limits
};

FoundFiles find_files(const RegistryOptions& options);

}  // namespace corral::models
