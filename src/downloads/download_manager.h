// The downloads of a server. They run on a separate thread, since bytes are written to the disk on their loop; other
// loops call from there. Besides a Downloader it has their rates, their waiting clients, and a record of all downloads
// in a file. After a kill, the next process resumes the recorded downloads.
//
// When the last client that waits for a download leaves, the download is paused, unless it is detached.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "async/event.h"
#include "async/loop.h"
#include "async/offload.h"
#include "async/task_group.h"
#include "base/mutex.h"
#include "base/split_mix.h"
#include "downloads/cache_layout.h"
#include "downloads/downloader.h"
#include "downloads/plan.h"
#include "downloads/transfer/curl_loop.h"

namespace corral::downloads {

// The visible state of a download.
struct DownloadRow {
  DownloadView view = {};
  std::uint64_t version = 0;               // changes with each change of the state
  std::optional<std::uint64_t> rate = {};  // bytes per second, of the last few seconds
  std::optional<std::uint64_t> seconds_left() const;
};

enum class DownloadOrder : std::uint8_t { pause, resume, cancel, remove };

struct DownloadManagerOptions {
  HubSettings hub = {};
  Downloader::Options downloads = {};
  RetryRules retries = {};
  // Of queries with a waiting client.
  RetryRules questions{.max_tries = 3, .longest_pause = Millis(2'000), .longest_rest = std::chrono::seconds(5)};
  CurlOptions curl = {};
  std::filesystem::path record = {};  // file of unfinished downloads; empty: they end with the process
  Millis tick{250};                   // interval of progress checks
  int ticks_per_change = 4;           // `on_change` gets one of so many
  std::size_t max_questions = 16;     // to the hub at once
};

// Everything except the constructor, start() and stop() is for any loop. Methods that return no task are for any
// thread.
class DownloadManager {
 public:
  // `on_change` is called on the manager's loop: after changes of a download's state (`moved`), and during its
  // progress.
  using OnChange = std::function<void(std::shared_ptr<const DownloadRow>, bool moved)>;

  // Throws std::runtime_error if libcurl can't start. `timers` are for all loops, and outlive it.
  DownloadManager(async::Timers& timers, DownloadManagerOptions options, OnChange on_change = {});
  ~DownloadManager();
  DownloadManager(const DownloadManager&) = delete;
  DownloadManager& operator=(const DownloadManager&) = delete;

  // Resumes the downloads of the record.
  void start();
  // Pauses all; the record keeps their state before. Once, before the destructor.
  async::Task<void> stop();

  const HubSettings& hub() const { return options_.hub; }
  // True: pauses everything, and sends no requests from now on. False: allows requests again.
  void set_offline(bool offline);
  bool offline() const { return offline_ || options_.hub.offline; }

  // Errors: bad_name, offline, in_use if too many queries run, and those of Hub, choose() and parse_source().
  async::Task<Result<Plan>> plan(std::string name);
  async::Task<Result<Listing>> list_repo(std::string repo, std::string revision);
  async::Task<Result<std::vector<FoundRepo>>> search(std::string words, std::size_t max);

  struct Begun {
    std::uint64_t id = 0;
    std::shared_ptr<void> waiting;  // counts as a waiting client as long as this exists
  };
  // Resumes a paused download of that name. Errors: those of Downloader::begin(), offline.
  async::Task<Result<Begun>> begin(std::string name, bool detached);
  // Waits until the version differs from `seen`, at most `patience`; returns the state, or nullopt if the download no
  // longer exists.
  async::Task<std::optional<DownloadRow>> next(std::uint64_t id, std::uint64_t seen, Millis patience);
  // Applies to the last download of that name. Returns a removed one as it was. Errors: those of Downloader,
  // file_not_found.
  async::Task<Result<DownloadRow>> order(std::string name, DownloadOrder what);
  async::Task<std::vector<DownloadRow>> list();

  // Names of unfinished downloads, as of the last change.
  std::vector<std::string> under_way() const;

  // Bytes fetched since the start.
  std::uint64_t bytes_fetched() const { return fetched_; }

  // As remove_files(), on a thread.
  async::Task<Result<Removed>> remove(std::string repo, std::vector<std::string> paths,
                                      std::vector<std::string> models = {});
  // Threads for blocking work on models' files.
  async::ThreadPool& disk() { return disk_; }

 private:
  struct Extra {
    std::uint64_t version = 0;
    std::deque<std::pair<MonoTime, std::uint64_t>> samples;
    bool detached = false;
    int waiting = 0;
  };
  class Question;

  template <typename T>
  async::Task<Result<T>> ask(async::Task<Result<T>> question);
  async::Task<Result<Plan>> plan_here(SourceName source);
  async::Task<Result<Begun>> begin_here(std::string name, bool detached);
  async::Task<std::optional<DownloadRow>> next_here(std::uint64_t id, std::uint64_t seen, Millis patience);
  async::Task<Result<DownloadRow>> order_here(std::string name, DownloadOrder what);
  async::Task<std::vector<DownloadRow>> list_here();
  async::Task<void> stop_here();
  async::Task<void> pause_all();
  async::Task<void> pause_one(std::uint64_t id);
  async::Task<void> look_now_and_then();
  async::Task<void> save_record();
  Result<> may_begin() const;
  void go_on();
  void changed(const DownloadView& view);
  void left(std::uint64_t id);
  void wake();
  void save_soon();
  std::string record_text() const;
  DownloadRow row(DownloadView view) const;

  async::Timers& timers_;
  const DownloadManagerOptions options_;
  const OnChange on_change_;
  std::atomic<bool> offline_ = false;
  std::atomic<std::uint64_t> fetched_ = 0;
  mutable Mutex mutex_;
  std::vector<std::string> under_way_ GUARDED_BY(mutex_);

  // On the loop.
  async::Loop loop_;
  async::ThreadPool disk_{2};
  SplitMix random_;
  CurlLoop curl_;
  Hub hub_, questions_;
  std::map<std::uint64_t, Extra> extras_;
  std::shared_ptr<async::Event> turn_;  // set, and replaced, with each change
  std::size_t asked_ = 0;
  bool looking_ = false, saving_ = false, save_again_ = false, stopping_ = false;
  Downloader downloader_;
  async::TaskGroup tasks_;
  async::TaskGroup records_;  // writes in progress
  std::jthread thread_;
};

}  // namespace corral::downloads
