// Several downloads: begun by a name, paused, gone on with, cancelled. A pause keeps what was fetched, cancelling
// removes it; what was whole before stays in both cases.
//
//   queued -> running -> done | failed
//   queued, running -> paused -> queued        failed -> queued (resume)
//   queued, running, paused, failed -> cancelled
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/cancel_source.h"
#include "async/task_group.h"
#include "downloads/download.h"
#include "downloads/download_view.h"
#include "downloads/names.h"

namespace corral::downloads {

// On one loop, the downloads' own; what it is given outlives it.
class Downloader {
 public:
  struct Options {
    DownloadOptions each = {};
    std::size_t at_once = 2;
    std::size_t most_kept = 100;  // that have ended, and those that haven't; beyond it nothing is begun
  };
  // `on_change` is called when a download's state is another one, `on_files` when the files of one have become known;
  // they mustn't call back.
  Downloader(DownloadTools tools, Options options, std::function<void(const DownloadView&)> on_change = {},
             std::function<void()> on_files = {});
  ~Downloader();
  Downloader(const Downloader&) = delete;
  Downloader& operator=(const Downloader&) = delete;

  // The number of the download; of one of that name that hasn't ended, if there is one. Errors: bad_name, in_use where
  // there are too many.
  Result<std::uint64_t> begin(std::string name);
  // Takes over a download; a paused or failed one runs when somebody resumes it. Blocking: looks at what is there of
  // its files. Errors: as of begin().
  Result<std::uint64_t> take_over(EarlierDownload earlier);
  // They return when it is so; cancelling wins over a pause. Errors: file_not_found without such a download, in_use
  // where its state doesn't allow it, or it came to its end first.
  async::Task<Result<>> pause(std::uint64_t id);
  Result<> resume(std::uint64_t id);
  async::Task<Result<>> cancel(std::uint64_t id);

  // One that runs no more isn't listed any longer. Errors: file_not_found, in_use.
  Result<> forget(std::uint64_t id);

  std::vector<DownloadView> list() const;
  std::optional<DownloadView> find(std::uint64_t id) const;
  // Pauses all of them, and waits for it. Once, before it goes.
  async::Task<void> stop();

 private:
  struct Job;

  std::shared_ptr<Job> job_of(std::uint64_t id) const;
  Result<std::shared_ptr<Job>> add(std::string name);
  bool is_wanted_elsewhere(const Job& besides, const std::string& oid) const;
  void pump();
  void set(Job& job, DownloadState state);
  async::Task<void> run(std::shared_ptr<Job> job);
  async::Task<Result<>> bring(std::shared_ptr<Job> job);
  async::Task<void> end(std::shared_ptr<Job> job, DownloadState state);
  async::Task<void> remove_parts(Job& job);

  const DownloadTools tools_;
  const Options options_;
  const std::function<void(const DownloadView&)> on_change_;
  const std::function<void()> on_files_;
  std::vector<std::shared_ptr<Job>> jobs_;  // in the order of their beginning
  std::uint64_t last_id_ = 0;
  bool stopping_ = false;
  async::TaskGroup tasks_;
};

}  // namespace corral::downloads
