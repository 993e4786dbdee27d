// One client's pull: what it asks for is looked up, begun and waited for. The same for every dialect.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/context.h"
#include "api/supply/supply.h"

namespace corral::api {

struct PullRequest {
  std::string source = {};               // what downloads::parse_source() takes
  std::string called = {};               // its name here, kept in user_models.json; empty: the one it has by itself
  std::vector<std::string> labels = {};  // of a name that is kept
  bool detached = false;                 // goes on whoever leaves
};

// Dropping it pauses the download, if nobody else waits for it. On one loop.
class Pull {
 public:
  // What it would take. Errors: those of DownloadManager::plan().
  static async::Task<Result<downloads::Plan>> plan(ApiContext& context, std::string source);
  // Errors: those of DownloadManager::begin(); name_taken; those of NameBook.
  static async::Task<Result<std::unique_ptr<Pull>>> begin(ApiContext& context, PullRequest wish, downloads::Plan plan);

  const downloads::Plan& plan() const { return plan_; }
  const downloads::DownloadRow& row() const { return row_; }
  bool ended() const;
  // Until it is another row, for so long at most.
  async::Task<void> next(Millis patience);
  // Until it has ended, or for so long as a refusal may take: who is refused at once gets a status.
  async::Task<void> first();
  // When it has ended: what the model is called. Errors: why it failed; download_paused, download_cancelled; what is
  // wrong with the file.
  async::Task<Result<std::string>> result();

 private:
  Pull(ApiContext& context, PullRequest wish, downloads::Plan plan, downloads::DownloadManager::Begun begun)
      : context_(context), wish_(std::move(wish)), plan_(std::move(plan)), begun_(std::move(begun)) {}

  ApiContext& context_;
  const PullRequest wish_;
  const downloads::Plan plan_;
  const downloads::DownloadManager::Begun begun_;
  downloads::DownloadRow row_ = {};
  bool gone_ = false;  // nobody knows it any more
};

// What the model would be called, or is, before it is here.
std::string called(const PullRequest& wish, const downloads::Plan& plan);

}  // namespace corral::api
