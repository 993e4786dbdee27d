// Where models come from and where their files are: what the routes that fetch, name and delete models work with. Made
// by the composition root; outlives all handlers.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "config/known_models.h"
#include "downloads/download_manager.h"
#include "models/name_book.h"

namespace corral::api {

// Folders of models, by whose they are.
struct ModelPlaces {
  std::filesystem::path hub_cache = {};                 // shared with other tools; names of files may go
  std::filesystem::path own = {};                       // what was brought into it by `import`
  std::filesystem::path copies = {};                    // of models of other nodes
  std::vector<std::filesystem::path> models_dirs = {};  // somebody's
  std::vector<std::filesystem::path> other_tools = {};  // files of Ollama's and LM Studio's
};

struct Supply {
  downloads::DownloadManager& desk;
  models::NameBook& names;
  // As they are now; on any thread.
  std::function<ModelPlaces()> places;
  // Bytes of the largest memory that a model may have here; on any loop.
  std::function<async::Task<std::uint64_t>()> memory;
  async::ThreadPool& imports;           // for copies of files, which take long; one thread
  config::KnownModels known = {};       // that have short names; as of the start
  std::atomic<bool> auto_pull = false;  // a request that names a model which isn't here may have it fetched
};

}  // namespace corral::api
