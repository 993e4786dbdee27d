// One client's pull: resolves the source, starts the download and waits for it. The same for every dialect.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/supply/context.h"
#include "api/supply/supply.h"

namespace corral::api {

struct PullRequest {
  std::string source = {};               // what downloads::parse_source() takes
  std::string called = {};               // its name here, saved in user_models.json; empty: the default name
  std::vector<std::string> labels = {};  // of a saved name
  bool detached = false;                 // continues if the client disconnects
  bool projector = true;                 // false: leave it out

  // The name of its download.
  std::string download() const { return projector ? source : source + std::string(downloads::kWithoutProjector); }
};

// Destroying it pauses the download, unless another client waits for it. On one loop.
class Pull {
 public:
  // Size and files of the download. Errors: those of DownloadManager::plan().
  static async::Task<Result<downloads::Plan>> plan(SupplyContext& context, std::string source);
  // Errors: those of DownloadManager::begin(); name_taken; those of NameStore.
  static async::Task<Result<std::unique_ptr<Pull>>> begin(SupplyContext& context, PullRequest wanted,
                                                          downloads::Plan plan);

  const downloads::Plan& plan() const { return plan_; }
  const downloads::DownloadRow& row() const { return row_; }
  bool ended() const;
  // Waits until the row changes, at most `patience`.
  async::Task<void> next(Millis patience);
  // Waits for the end, but only as long as an early error may take: such an error gets its own HTTP status.
  async::Task<void> first();
  // After the end: the model's name. Errors: why it failed; download_paused, download_cancelled; the problem of the
  // file.
  async::Task<Result<std::string>> result();

 private:
  Pull(SupplyContext& context, PullRequest wanted, downloads::Plan plan, downloads::DownloadManager::Begun begun)
      : context_(context), wanted_(std::move(wanted)), plan_(std::move(plan)), begun_(std::move(begun)) {}

  SupplyContext& context_;
  const PullRequest wanted_;
  const downloads::Plan plan_;
  const downloads::DownloadManager::Begun begun_;
  downloads::DownloadRow row_ = {};
  bool gone_ = false;  // the download manager no longer knows it
};

// The name that the model has or will have.
std::string called(const PullRequest& wanted, const downloads::Plan& plan);

}  // namespace corral::api
