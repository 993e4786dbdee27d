// Several downloads: begin by name, pause, resume, cancel. A pause keeps fetched bytes, cancelling removes them. Files
// that were complete before stay in both cases.
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

// On one loop, which serves only downloads; constructor arguments outlive it.
class Downloader {
 public:
  struct Options {
    DownloadOptions each = {};
    std::size_t at_once = 2;
    std::size_t max_kept = 100;  // ended and unfinished ones; beyond that no download begins
  };
  // `on_change` is called after a change of a download's state, `on_files` when a download's files become known; they
  // must not call back.
  Downloader(DownloadTools tools, Options options, std::function<void(const DownloadView&)> on_change = {},
             std::function<void()> on_files = {});
  ~Downloader();
  Downloader(const Downloader&) = delete;
  Downloader& operator=(const Downloader&) = delete;

  // The number of the download; of an unfinished one of that name, if there is one. Errors: bad_name, in_use if there
  // are too many.
  Result<std::uint64_t> begin(std::string name);
  // Takes over a download; a paused or failed one only runs after resume(). Blocking: reads the state of its files.
  // Errors: as of begin().
  Result<std::uint64_t> take_over(EarlierDownload earlier);
  // They return when the new state is reached; cancelling overrides a pause. Errors: file_not_found without such a
  // download, in_use if its state doesn't allow the operation, or it ended first.
  async::Task<Result<>> pause(std::uint64_t id);
  Result<> resume(std::uint64_t id);
  async::Task<Result<>> cancel(std::uint64_t id);

  // Removes a download that no longer runs from the list. Errors: file_not_found, in_use.
  Result<> forget(std::uint64_t id);

  std::vector<DownloadView> list() const;
  std::optional<DownloadView> find(std::uint64_t id) const;
  // Pauses all of them, and waits for it. Once, before the destructor.
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
  std::vector<std::shared_ptr<Job>> jobs_;  // in the order of begin()
  std::uint64_t last_id_ = 0;
  bool stopping_ = false;
  async::TaskGroup tasks_;
};

}  // namespace corral::downloads
