// Sources of models and folders of their files, for the routes that download, name and delete models. Made by the
// composition root; outlives all handlers.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "config/files/known_models.h"
#include "downloads/download_manager.h"
#include "models/names/name_store.h"

namespace corral::api {

// Folders of models, by owner.
struct ModelPlaces {
  std::filesystem::path hub_cache = {};                 // shared with other tools; names of files may be deleted
  std::filesystem::path own = {};                       // imported files
  std::filesystem::path copies = {};                    // of models of other nodes
  std::vector<std::filesystem::path> models_dirs = {};  // of the user
  std::vector<std::filesystem::path> other_tools = {};  // files of Ollama's and LM Studio's
};

struct Supply {
  downloads::DownloadManager& download_manager;
  models::NameStore& names;
  // The current folders; on any thread.
  std::function<ModelPlaces()> places;
  // Size in bytes of the largest memory for a model here; on any loop.
  std::function<async::Task<std::uint64_t>()> memory;
  async::ThreadPool& imports;           // for copies of files, which are slow; one thread
  config::KnownModels known = {};       // models with short names, as of the start
  std::atomic<bool> auto_pull = false;  // requests may download a missing model
};

}  // namespace corral::api
