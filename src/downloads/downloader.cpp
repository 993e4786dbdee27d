#include "downloads/downloader.h"

#include <algorithm>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "downloads/errors.h"
#include "downloads/plan.h"
#include "downloads/transfer/part_file.h"
#include "downloads/transfer/progress_file.h"

namespace corral::downloads {
namespace fs = std::filesystem;

struct Downloader::Job {
  Job(async::Executor executor, std::uint64_t number, std::string text, SourceName what)
      : id(number), name(std::move(text)), source(std::move(what)), rested(std::make_shared<async::Event>(executor)) {
    rested->set();
  }

  const std::uint64_t id;
  const std::string name;
  const SourceName source;
  DownloadState state = DownloadState::queued;
  DownloadState state_after_stop = DownloadState::paused;  // the state after a stop
  async::CancelSource stopper;                             // of the current run
  // Set while it doesn't run. Each run has its own event, so that a waiter for the end of one run isn't affected by the
  // next run.
  std::shared_ptr<async::Event> rested;
  std::unique_ptr<Download> download;
  std::string repo;                // of the last lookup of the name; empty: none
  std::vector<FileView> files;     // at the end of the last run
  std::vector<std::string> asked;  // their blobs
  std::filesystem::path main_file;
  std::optional<Error> error;

  bool is_stopping() const { return !rested->is_set() && stopper.stopped(); }
  bool has_ended() const { return state == DownloadState::done || state == DownloadState::cancelled; }
  DownloadView view() const { return {id, name, state, repo, download ? download->files() : files, error, main_file}; }
};

Downloader::Downloader(DownloadTools tools, Options options, std::function<void(const DownloadView&)> on_change,
                       std::function<void()> on_files)
    : tools_(std::move(tools)),
      options_(std::move(options)),
      on_change_(std::move(on_change)),
      on_files_(std::move(on_files)),
      tasks_(tools_.executor) {}

Downloader::~Downloader() = default;

Result<std::shared_ptr<Downloader::Job>> Downloader::add(std::string name) {
  auto source = parse_source(name);
  if (!source) return std::unexpected(std::move(source.error()));
  for (const auto& job : jobs_)
    if (job->name == name && !job->has_ended() && job->state != DownloadState::failed) return job;
  if (jobs_.size() >= options_.max_kept) {
    const auto over = [](const auto& job) { return job->has_ended() || job->state == DownloadState::failed; };
    const auto old = std::ranges::find_if(jobs_, over);
    if (old == jobs_.end())
      return fail(errc::in_use, fmt::format("there are already {} downloads: cancel some", jobs_.size()));
    jobs_.erase(old);
  }
  jobs_.push_back(std::make_shared<Job>(tools_.executor, ++last_id_, std::move(name), std::move(*source)));
  return jobs_.back();
}

Result<std::uint64_t> Downloader::begin(std::string name) {
  const std::uint64_t last = last_id_;
  const auto job = add(std::move(name));
  if (!job) return std::unexpected(job.error());
  if ((*job)->id > last) {
    set(**job, DownloadState::queued);
    pump();
  }
  return (*job)->id;
}

Result<std::uint64_t> Downloader::take_over(EarlierDownload earlier) {
  const std::uint64_t last = last_id_;
  const auto added = add(std::move(earlier.name));
  if (!added) return std::unexpected(added.error());
  Job& job = **added;
  if (job.id <= last) return job.id;
  job.repo = std::move(earlier.repo);
  job.files = std::move(earlier.files);
  job.error = std::move(earlier.error);
  const RepoFolder folder(tools_.hub.settings().cache, job.repo);
  for (FileView& file : job.files) {
    job.asked.push_back(file.oid);
    file.whole = has_blob(folder, file.oid, file.size);
    file.done = file.whole ? file.size : load_progress(folder.progress(file.oid), file.size).done.bytes();
  }
  const auto waiting = earlier.paused ? DownloadState::paused : DownloadState::queued;
  set(job, job.error ? DownloadState::failed : waiting);
  pump();
  return job.id;
}

std::shared_ptr<Downloader::Job> Downloader::job_of(std::uint64_t id) const {
  const auto found = std::ranges::find_if(jobs_, [id](const auto& job) { return job->id == id; });
  return found == jobs_.end() ? nullptr : *found;
}

void Downloader::set(Job& job, DownloadState state) {
  job.state = state;
  if (on_change_) on_change_(job.view());
}

void Downloader::pump() {
  if (stopping_) return;
  auto running =
      static_cast<std::size_t>(std::ranges::count_if(jobs_, [](const auto& job) { return !job->rested->is_set(); }));
  for (const auto& job : jobs_) {
    if (running >= options_.at_once) return;
    if (job->state != DownloadState::queued || !job->rested->is_set()) continue;
    ++running;
    job->rested = std::make_shared<async::Event>(tools_.executor);
    job->stopper = {};
    job->state_after_stop = DownloadState::paused;
    job->error.reset();
    set(*job, DownloadState::running);
    tasks_.spawn("download", run(job));
  }
}

async::Task<void> Downloader::run(std::shared_ptr<Job> job) {
  auto work = bring(job);
  std::optional<Result<>> ended;
  try {
    ended = co_await job->stopper.run(std::move(work));
  } catch (const std::exception& failure) {
    const auto* cause = dynamic_cast<const boost::system::system_error*>(&failure);
    if (cause && cause->code() == async::asio::error::operation_aborted) throw;
    ended = fail(errc::disk_failed, fmt::format("fetching '{}': {}", job->name, failure.what()));
  }
  if (job->download) {
    co_await job->download->stop();
    job->files = job->download->files();
    job->download.reset();
  }
  DownloadState state = job->state_after_stop;
  const bool cancelled = job->stopper.stopped() && job->state_after_stop == DownloadState::cancelled;
  if (ended && (*ended || !cancelled)) {
    state = *ended ? DownloadState::done : DownloadState::failed;
    if (!*ended) job->error = std::move(ended->error());
  }
  if (state == DownloadState::cancelled) co_await remove_parts(*job);
  job->rested->set();
  set(*job, state);
  pump();
}

async::Task<Result<>> Downloader::bring(std::shared_ptr<Job> job) {
  auto found = co_await look_up(tools_.hub, job->source);
  if (!found) co_return std::unexpected(std::move(found.error()));
  auto files = found->variant.in_order();
  job->repo = found->listing.repo;
  job->asked.clear();
  for (const TreeFile& file : files) job->asked.push_back(file.oid);
  const fs::path commit = RepoFolder(tools_.hub.settings().cache, job->repo).snapshot(found->listing.at.commit);
  job->main_file = commit / files.back().path;
  job->download = std::make_unique<Download>(tools_, options_.each, std::move(found->listing), std::move(files));
  if (on_files_) on_files_();
  job->download->start();
  Result<> result = co_await job->download->finished();
  co_return result;
}

// Whether another unfinished download has the same blob among its files. An earlier one of the same name has failed,
// and this one replaces it.
bool Downloader::is_wanted_elsewhere(const Job& besides, const std::string& oid) const {
  return std::ranges::any_of(jobs_, [&](const auto& job) {
    return job.get() != &besides && job->name != besides.name && !job->has_ended() && job->repo == besides.repo &&
           std::ranges::count(job->asked, oid) > 0;
  });
}

async::Task<void> Downloader::remove_parts(Job& job) {
  if (job.repo.empty()) co_return;
  std::vector<std::string> unwanted = job.asked;
  std::erase_if(unwanted, [&](const std::string& oid) { return is_wanted_elsewhere(job, oid); });
  // Another process that fetches the same file holds its lock, so its part stays.
  auto remove = [folder = RepoFolder(tools_.hub.settings().cache, job.repo),
                 blobs = std::move(unwanted)]() -> Result<> {
    for (const std::string& oid : blobs) {
      auto lock = BlobLock::try_take(folder.lock(oid));
      if (!lock || !*lock) continue;
      if (auto removed = remove_part(folder, oid); !removed) return std::unexpected(std::move(removed.error()));
    }
    return {};
  };
  Result<> removed = co_await tools_.disk.run(std::move(remove));
  if (!removed) job.error = std::move(removed.error());
  job.files.clear();
}

async::Task<void> Downloader::end(std::shared_ptr<Job> job, DownloadState state) {
  if (job->rested->is_set()) {
    job->state = state;  // from now on it can't start to run
    if (state == DownloadState::cancelled) co_await remove_parts(*job);
    set(*job, state);
  } else {
    if (!job->is_stopping() || job->state_after_stop != DownloadState::cancelled) job->state_after_stop = state;
    const auto rested = job->rested;
    if (!job->stopper.stopped()) job->stopper.stop();
    co_await rested->wait();
  }
}

async::Task<Result<>> Downloader::pause(std::uint64_t id) {
  const auto job = job_of(id);
  if (!job) co_return fail(errc::file_not_found, fmt::format("unknown download {}", id));
  if (job->state == DownloadState::paused) co_return Result<>();
  if (job->state != DownloadState::queued && job->state != DownloadState::running)
    co_return fail(errc::in_use,
                   fmt::format("the download of '{}' is {}, and cannot be paused", job->name, name_of(job->state)));
  co_await end(job, DownloadState::paused);
  if (job->has_ended() || job->state == DownloadState::failed)
    co_return fail(errc::in_use,
                   fmt::format("the download of '{}' is {}, and cannot be paused", job->name, name_of(job->state)));
  co_return Result<>();
}

Result<> Downloader::resume(std::uint64_t id) {
  const auto job = job_of(id);
  if (!job) return fail(errc::file_not_found, fmt::format("unknown download {}", id));
  if (job->is_stopping() && job->state_after_stop == DownloadState::paused)
    job->state_after_stop = DownloadState::queued;
  if (job->state == DownloadState::queued || job->state == DownloadState::running) return {};
  if (job->has_ended())
    return fail(errc::in_use, fmt::format("the download of '{}' is {}: pull it again", job->name, name_of(job->state)));
  set(*job, DownloadState::queued);
  pump();
  return {};
}

async::Task<Result<>> Downloader::cancel(std::uint64_t id) {
  const auto job = job_of(id);
  if (!job) co_return fail(errc::file_not_found, fmt::format("unknown download {}", id));
  if (job->state == DownloadState::cancelled) co_return Result<>();
  if (job->state == DownloadState::done)
    co_return fail(errc::in_use, fmt::format("the download of '{}' is done: delete the model instead", job->name));
  co_await end(job, DownloadState::cancelled);
  if (job->state == DownloadState::done)
    co_return fail(errc::in_use, fmt::format("the download of '{}' is done: delete the model instead", job->name));
  co_return Result<>();
}

Result<> Downloader::forget(std::uint64_t id) {
  const auto job = job_of(id);
  if (!job) return fail(errc::file_not_found, fmt::format("unknown download {}", id));
  if (!job->rested->is_set() || (!job->has_ended() && job->state != DownloadState::failed))
    return fail(errc::in_use,
                fmt::format("the download of '{}' is {}: cancel it first", job->name, name_of(job->state)));
  std::erase(jobs_, job);
  return {};
}

std::vector<DownloadView> Downloader::list() const {
  std::vector<DownloadView> views;
  for (const auto& job : jobs_) views.push_back(job->view());
  return views;
}

std::optional<DownloadView> Downloader::find(std::uint64_t id) const {
  const auto job = job_of(id);
  return job ? std::optional(job->view()) : std::nullopt;
}

async::Task<void> Downloader::stop() {
  stopping_ = true;
  for (const auto& job : jobs_)
    if (!job->rested->is_set() && !job->stopper.stopped()) job->stopper.stop();
  co_await tasks_.join();
}

}  // namespace corral::downloads
