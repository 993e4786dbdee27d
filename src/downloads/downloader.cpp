#include "downloads/downloader.h"

#include <algorithm>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>

#include "downloads/errors.h"
#include "downloads/plan.h"

namespace corral::downloads {

struct Downloader::Job {
  Job(async::Executor executor, std::uint64_t number, std::string text, SourceName what)
      : id(number), name(std::move(text)), source(std::move(what)), rested(std::make_shared<async::Event>(executor)) {
    rested->set();
  }

  const std::uint64_t id;
  const std::string name;
  const SourceName source;
  DownloadState state = DownloadState::queued;
  DownloadState wish = DownloadState::paused;  // what a stopped one becomes
  async::Stopper stopper;                      // of the current run
  // It doesn't run. Each run has its own: who waits for the end of one isn't overtaken by the beginning of the next.
  std::shared_ptr<async::Event> rested;
  std::unique_ptr<Download> download;
  std::vector<FileView> files;  // as of the end of the last run
  std::vector<TreeFile> asked;
  std::optional<RepoFolder> folder;
  std::filesystem::path main_file;
  std::optional<Error> error;

  bool is_stopping() const { return !rested->is_set() && stopper.stopped(); }
  bool has_ended() const { return state == DownloadState::done || state == DownloadState::cancelled; }
  DownloadView view() const { return {id, name, state, download ? download->files() : files, error, main_file}; }
};

std::string_view name_of(DownloadState state) {
  constexpr std::string_view kNames[] = {"queued", "running", "paused", "done", "failed", "cancelled"};
  return kNames[static_cast<std::size_t>(state)];
}

std::uint64_t DownloadView::bytes() const {
  std::uint64_t sum = 0;
  for (const FileView& file : files) sum += file.size;
  return sum;
}
std::uint64_t DownloadView::bytes_done() const {
  std::uint64_t sum = 0;
  for (const FileView& file : files) sum += file.done;
  return sum;
}

Downloader::Downloader(DownloadTools tools, Options options, std::function<void(const DownloadView&)> on_change)
    : tools_(std::move(tools)),
      options_(std::move(options)),
      on_change_(std::move(on_change)),
      tasks_(tools_.executor) {}

Downloader::~Downloader() = default;

Result<std::uint64_t> Downloader::begin(std::string name, bool paused) {
  auto source = parse_source(name);
  if (!source) return std::unexpected(std::move(source.error()));
  for (const auto& job : jobs_)
    if (job->name == name && !job->has_ended() && job->state != DownloadState::failed) return job->id;
  if (jobs_.size() >= options_.most_kept) {
    const auto over = [](const auto& job) { return job->has_ended() || job->state == DownloadState::failed; };
    const auto old = std::ranges::find_if(jobs_, over);
    if (old == jobs_.end())
      return fail(errc::in_use, fmt::format("there are {} downloads already: cancel some", jobs_.size()));
    jobs_.erase(old);
  }
  auto job = std::make_shared<Job>(tools_.executor, ++last_id_, std::move(name), std::move(*source));
  jobs_.push_back(job);
  set(*job, paused ? DownloadState::paused : DownloadState::queued);
  pump();
  return job->id;
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
    job->wish = DownloadState::paused;
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
  DownloadState state = job->wish;
  const bool cancelled = job->stopper.stopped() && job->wish == DownloadState::cancelled;
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
  job->asked = found->variant.in_order();
  const std::string commit = found->listing.at.commit;
  job->download = std::make_unique<Download>(tools_, options_.each, std::move(found->listing), job->asked);
  job->folder = job->download->folder();
  job->main_file = job->folder->snapshot(commit) / job->asked.back().path;
  job->download->start();
  Result<> result = co_await job->download->finished();
  co_return result;
}

async::Task<void> Downloader::remove_parts(Job& job) {
  if (!job.folder) co_return;
  // Who fetches the same file beside us has its lock: nothing is taken from it.
  auto remove = [folder = *job.folder, files = job.asked]() -> Result<> {
    for (const TreeFile& file : files) {
      auto lock = BlobLock::try_take(folder.lock(file.oid));
      if (!lock || !*lock) continue;
      if (auto removed = remove_part(folder, file.oid); !removed) return std::unexpected(std::move(removed.error()));
    }
    return {};
  };
  Result<> removed = co_await tools_.disk.run(std::move(remove));
  if (!removed) job.error = std::move(removed.error());
  job.files.clear();
}

async::Task<void> Downloader::end(std::shared_ptr<Job> job, DownloadState state) {
  if (job->rested->is_set()) {
    job->state = state;  // from now on nobody lets it run
    if (state == DownloadState::cancelled) co_await remove_parts(*job);
    set(*job, state);
  } else {
    if (!job->is_stopping() || job->wish != DownloadState::cancelled) job->wish = state;
    const auto rested = job->rested;
    if (!job->stopper.stopped()) job->stopper.stop();
    co_await rested->wait();
  }
}

async::Task<Result<>> Downloader::pause(std::uint64_t id) {
  const auto job = job_of(id);
  if (!job) co_return fail(errc::file_not_found, fmt::format("there is no download {}", id));
  if (job->state == DownloadState::paused) co_return Result<>();
  if (job->state != DownloadState::queued && job->state != DownloadState::running)
    co_return fail(errc::in_use, fmt::format("download {} is {}: nothing to pause", id, name_of(job->state)));
  co_await end(job, DownloadState::paused);
  if (job->has_ended() || job->state == DownloadState::failed)
    co_return fail(errc::in_use, fmt::format("download {} is {}: nothing to pause", id, name_of(job->state)));
  co_return Result<>();
}

Result<> Downloader::resume(std::uint64_t id) {
  const auto job = job_of(id);
  if (!job) return fail(errc::file_not_found, fmt::format("there is no download {}", id));
  if (job->is_stopping() && job->wish == DownloadState::paused) job->wish = DownloadState::queued;
  if (job->state == DownloadState::queued || job->state == DownloadState::running) return {};
  if (job->has_ended())
    return fail(errc::in_use, fmt::format("download {} is {}: begin it anew", id, name_of(job->state)));
  set(*job, DownloadState::queued);
  pump();
  return {};
}

async::Task<Result<>> Downloader::cancel(std::uint64_t id) {
  const auto job = job_of(id);
  if (!job) co_return fail(errc::file_not_found, fmt::format("there is no download {}", id));
  if (job->state == DownloadState::cancelled) co_return Result<>();
  if (job->state == DownloadState::done)
    co_return fail(errc::in_use, fmt::format("download {} is done: delete the model instead", id));
  co_await end(job, DownloadState::cancelled);
  if (job->state == DownloadState::done)
    co_return fail(errc::in_use, fmt::format("download {} is done: delete the model instead", id));
  co_return Result<>();
}

Result<> Downloader::forget(std::uint64_t id) {
  const auto job = job_of(id);
  if (!job) return fail(errc::file_not_found, fmt::format("there is no download {}", id));
  if (!job->rested->is_set() || (!job->has_ended() && job->state != DownloadState::failed))
    return fail(errc::in_use, fmt::format("download {} is {}: cancel it first", id, name_of(job->state)));
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
