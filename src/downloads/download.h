// One download: some files of one commit, into the hub cache. All files get their names when all are complete and
// verified; until then no program lists them.
//
// Each file has a task that takes its lock, opens its partial data and computes the hash. A few workers fetch ranges of
// the next file (parts.h), and retry by the rules of attempts.h. Written bytes are recorded every few seconds. The
// process may be killed at any time: the next one resumes from the last record.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/offload.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "downloads/cache_layout.h"
#include "downloads/hub/hub.h"
#include "downloads/transfer/content_check.h"
#include "downloads/transfer/part_file.h"
#include "downloads/transfer/parts.h"

namespace corral::downloads {

struct DownloadOptions {
  PartLimits parts;
  RetryRules retries;
  Millis save_every{3'000};
  Millis ask_for_lock_every{1'000};
  std::uint64_t keep_free = 64 << 20;   // free bytes that a download leaves on the disk
  std::uint64_t hash_behind = 8 << 20;  // bytes that are hashed in one step
  std::function<std::uint64_t(const std::filesystem::path&)> free_disk = free_bytes;
};

// Everything that does the work; all outlive the download. `disk` is for blocking work, with two threads.
struct DownloadTools {
  async::Executor executor;
  async::Timers& timers;
  async::ThreadPool& disk;
  Fetcher& fetcher;
  Hub& hub;
  Hub::Dice dice;
};

struct FileView {
  std::string path;
  std::uint64_t size = 0;
  std::uint64_t done = 0;    // bytes on the disk
  bool whole = false;        // complete, with the right content
  bool elsewhere = false;    // another program fetches the file, and this download waits
  std::string oid = {};      // hash of its content, as in TreeFile
  std::uint64_t before = 0;  // bytes on the disk when the download started to run
};

// On one loop, which should serve nothing else: bytes are written to the disk on it.
class Download {
 public:
  // The files are in the order in which they get their names.
  Download(DownloadTools tools, DownloadOptions options, Listing listing, std::vector<TreeFile> files);
  ~Download();
  Download(const Download&) = delete;
  Download& operator=(const Download&) = delete;

  // Once.
  void start();
  // Waits for its end. Errors: those of a Hub, disk_full, disk_failed, wrong_content.
  async::Task<Result<>> finished();
  // Ends what runs, records the fetched bytes, and releases all locks. Fetched bytes stay. Once, before the destructor;
  // must not be cancelled.
  async::Task<void> stop();

  std::vector<FileView> files() const;
  const Listing& listing() const { return listing_; }
  const RepoFolder& folder() const { return folder_; }

 private:
  struct File;
  struct Intake;
  struct Worker;

  async::Task<void> run();
  async::Task<void> run_file(std::size_t index);
  async::Task<Result<>> bring(File& file);
  async::Task<Result<>> take_lock(File& file);
  async::Task<Result<bool>> check(File& file);  // whether the content is right
  async::Task<void> work(Worker& worker);
  async::Task<Result<>> fetch(Part& part);
  Take take(File& file, Part& part, Intake& intake, const FetchHead& head, std::string_view bytes);
  async::Task<void> save_now_and_then();
  async::Task<Result<>> save(File& file);
  Result<> enough_room() const;
  Result<> name_all() const;
  async::Task<void> guard(async::Task<void> task);
  void fail_with(Error error);
  void wake_workers();

  const DownloadTools tools_;
  const DownloadOptions options_;
  const Listing listing_;
  const RepoFolder folder_;
  std::deque<File> files_;
  std::deque<Worker> workers_;
  std::vector<File*> file_of_part_;  // by its number in parts_
  Parts parts_;
  std::size_t whole_ = 0;
  bool stopping_ = false;
  std::optional<Error> failure_;
  async::Event ended_;
  async::TaskGroup tasks_;
};

}  // namespace corral::downloads
