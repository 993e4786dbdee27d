// The model of the setting hub_model: its file in the hub cache. It is downloaded at the start if it isn't there.
#pragma once

#include <filesystem>
#include <string>

#include "async/task.h"
#include "base/error.h"
#include "downloads/download_manager.h"

namespace corral::app {

struct HubFile {
  std::string name;            // "org/repo:Q8_0"
  std::filesystem::path file;  // in the hub cache; of a split set: one of them
};

// In the cache, without network. Blocking: reads headers of files. Errors: those of models::Catalog::find().
Result<HubFile> find_in_hub_cache(const std::filesystem::path& cache, const std::string& name);

// Downloads it, and logs the progress. Files that are in the cache are not downloaded again. `download_manager`
// outlives it. Errors: those of DownloadManager::plan() and begin(); why the download failed or ended early.
async::Task<Result<HubFile>> download_from_hub(downloads::DownloadManager& download_manager, std::string name);

}  // namespace corral::app
