// The downloads of a server: on a thread of their own, since bytes are written to the disk on their loop, and spoken to
// from any other. Beside what a Downloader does it knows how fast they are, who waits for them, and, in a file, which
// there are: a process that was killed goes on with them when it is begun again.
//
// A download that somebody waits for is paused when the last of these leaves, unless it is detached: then it goes on.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "async/event.h"
#include "async/loop.h"
#include "async/offload.h"
#include "async/task_group.h"
#include "base/split_mix.h"
#include "downloads/cache_layout.h"
#include "downloads/curl_loop.h"
#include "downloads/downloader.h"
#include "downloads/plan.h"

namespace corral::downloads {

// A download as others see it.
struct DownloadRow {
  DownloadView view = {};
  std::uint64_t version = 0;               // another one for each change
  std::optional<std::uint64_t> rate = {};  // bytes in a second, of the last few seconds
  std::optional<std::uint64_t> seconds_left() const;
};

enum class DownloadOrder : std::uint8_t { pause, resume, cancel, remove };

struct DeskOptions {
  HubSettings hub = {};
  Downloader::Options downloads = {};
  RetryRules retries = {};
  // Of somebody who waits for an answer.
  RetryRules questions{.max_tries = 3, .longest_pause = Millis(2'000), .longest_rest = std::chrono::seconds(5)};
  CurlOptions curl = {};
  std::filesystem::path record = {};  // of those that haven't ended; empty: they are forgotten with the process
  Millis tick{250};                   // between looks at how far they are
  int ticks_told = 4;                 // one of so many is told to `on_change`
  std::size_t max_questions = 16;     // to the hub at once
};

// Everything but the constructor, start() and stop() is for any loop, and the methods that return no task for any
// thread.
class DownloadManager {
 public:
  // `on_change` is called on the desk's loop: when a download's state is another one (`moved`), and while it runs.
  using OnChange = std::function<void(std::shared_ptr<const DownloadRow>, bool moved)>;

  // Throws std::runtime_error where libcurl can't begin. `timers` are for all loops, and outlive it.
  DownloadManager(async::Timers& timers, DeskOptions options, OnChange on_change = {});
  ~DownloadManager();
  DownloadManager(const DownloadManager&) = delete;
  DownloadManager& operator=(const DownloadManager&) = delete;

  // Goes on with what the record says.
  void start();
  // Pauses all; the record says that they ran. Once, before it goes.
  async::Task<void> stop();

  const HubSettings& hub() const { return options_.hub; }
  // Nothing goes out from now on, and what runs is paused; or it may again.
  void set_offline(bool offline);
  bool offline() const { return offline_ || options_.hub.offline; }

  // Errors: bad_name, offline, in_use where too many ask, and those of Hub, choose() and parse_source().
  async::Task<Result<Plan>> plan(std::string name);
  async::Task<Result<Listing>> list_repo(std::string repo, std::string revision);
  async::Task<Result<std::vector<FoundRepo>>> search(std::string words, std::size_t most);

  struct Begun {
    std::uint64_t id = 0;
    std::shared_ptr<void> waiting;  // somebody waits for it as long as this lives
  };
  // Goes on with one of that name that is paused. Errors: those of Downloader::begin(), offline.
  async::Task<Result<Begun>> begin(std::string name, bool detached);
  // As soon as it is another one than `seen`, or after `patience` as it is then; nothing where there is none any more.
  async::Task<std::optional<DownloadRow>> next(std::uint64_t id, std::uint64_t seen, Millis patience);
  // Of several of a name the last one. Errors: those of Downloader, file_not_found. What is removed: as it was.
  async::Task<Result<DownloadRow>> order(std::string name, DownloadOrder what);
  async::Task<std::vector<DownloadRow>> list();

  // Names of those that haven't ended, as of the last change.
  std::vector<std::string> under_way() const;

  // That have come since the start.
  std::uint64_t bytes_fetched() const { return fetched_; }

  // As remove_files(), on a thread.
  async::Task<Result<Removed>> remove(std::string repo, std::vector<std::string> paths);
  // For what blocks and has to do with models' files.
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
  const DeskOptions options_;
  const OnChange on_change_;
  std::atomic<bool> offline_ = false;
  std::atomic<std::uint64_t> fetched_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> under_way_;  // under mutex_

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
  async::TaskGroup records_;  // that are being written
  std::jthread thread_;
};

}  // namespace corral::downloads
