#include "downloads/download_manager.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/state_file.h"
#include "downloads/download_record.h"
#include "downloads/errors.h"
#include "downloads/transfer/part_file.h"

namespace corral::downloads {
namespace {

constexpr Millis kRateWindow{5'000};

bool is_moving(DownloadState state) { return state == DownloadState::queued || state == DownloadState::running; }
bool has_ended(DownloadState state) { return state == DownloadState::done || state == DownloadState::cancelled; }

std::shared_ptr<async::Event> new_turn(async::Executor executor) { return std::make_shared<async::Event>(executor); }

async::Task<bool> turned(std::shared_ptr<async::Event> turn) {
  co_await turn->wait();
  co_return true;
}

std::uint64_t seed_of(const async::Timers& timers) {
  return static_cast<std::uint64_t>(timers.wall_now().time_since_epoch().count());
}

}  // namespace

std::optional<std::uint64_t> DownloadRow::seconds_left() const {
  if (!rate || *rate == 0) return std::nullopt;
  return (view.bytes() - view.bytes_done() + *rate - 1) / *rate;
}

DownloadManager::DownloadManager(async::Timers& timers, DownloadManagerOptions options, OnChange on_change)
    : timers_(timers),
      options_(std::move(options)),
      on_change_(std::move(on_change)),
      random_(seed_of(timers)),
      curl_(loop_.executor(), timers, options_.curl),
      hub_(curl_, timers, options_.hub, options_.retries, [this] { return random_.next(); }),
      questions_(curl_, timers, options_.hub, options_.questions, [this] { return random_.next(); }),
      turn_(new_turn(loop_.executor())),
      downloader_(
          {loop_.executor(), timers, disk_, curl_, hub_, [this] { return random_.next(); }}, options_.downloads,
          [this](const DownloadView& view) { changed(view); }, [this] { save_soon(); }),
      tasks_(loop_.executor()),
      records_(loop_.executor()),
      thread_([this] { loop_.run(); }) {}

DownloadManager::~DownloadManager() {
  loop_.stop();
  thread_.join();
  disk_.finish();
}

void DownloadManager::start() {
  loop_.post([this] { go_on(); });
}

void DownloadManager::go_on() {
  const bool may = may_begin().has_value();
  const auto text = options_.record.empty() ? Result<std::optional<std::string>>() : read_state_file(options_.record);
  if (!text || !*text) return;
  for (auto& one : read_record(**text)) {
    const std::string name = one.name;
    const bool detached = !one.paused;
    one.paused = one.paused || !may;
    const auto taken = downloader_.take_over(std::move(one));
    if (!taken) {
      log::warning("downloads", "the download of '{}' cannot resume: {}", name, taken.error().message);
      continue;
    }
    extras_[*taken].detached = detached;
  }
}

async::Task<void> DownloadManager::stop() { return async::run_on(loop_.executor(), stop_here()); }

async::Task<void> DownloadManager::stop_here() {
  stopping_ = true;  // the record stays as it is, or as the current write leaves it
  co_await records_.join();
  co_await downloader_.stop();
  wake();
  tasks_.cancel();
  co_await tasks_.join();
}

void DownloadManager::set_offline(bool offline) {
  const bool was = offline_.exchange(offline);
  if (!offline || was) return;
  loop_.post([this] {
    if (!stopping_) tasks_.spawn("pausing downloads", pause_all());
  });
}

Result<> DownloadManager::may_begin() const {
  if (offline()) return std::unexpected(offline_error(options_.hub));
  if (options_.hub.cache.empty())
    return fail(errc::disk_failed, "there is no folder for models: set HF_HUB_CACHE or HOME, and start again");
  return {};
}

// Queries of the hub, with a limit of concurrent ones.
class DownloadManager::Question {
 public:
  explicit Question(std::size_t& count) : count_(count) { ++count_; }
  ~Question() { --count_; }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

 private:
  std::size_t& count_;
};

template <typename T>
async::Task<Result<T>> DownloadManager::ask(async::Task<Result<T>> question) {
  if (auto may = may_begin(); !may) co_return std::unexpected(std::move(may.error()));
  if (asked_ >= options_.max_questions) {
    Error error(make_error_code(errc::in_use),
                fmt::format("{} requests to the hub are running: retry when some have finished", asked_));
    error.retry_after = std::chrono::seconds(1);
    co_return std::unexpected(std::move(error));
  }
  const Question counted(asked_);
  co_return co_await std::move(question);
}

async::Task<Result<Plan>> DownloadManager::plan(std::string name) {
  auto source = parse_source(name);
  if (!source) co_return std::unexpected(std::move(source.error()));
  auto task = ask(plan_here(std::move(*source)));
  co_return co_await async::run_on(loop_.executor(), std::move(task));
}

async::Task<Result<Plan>> DownloadManager::plan_here(SourceName source) {
  auto found = co_await look_up(questions_, source);
  if (!found) co_return std::unexpected(std::move(found.error()));
  auto look = [source = std::move(source), found = std::move(*found), &cache = options_.hub.cache,
               &each = options_.downloads.each] {
    Plan plan = make_plan(source, found, cache);
    plan.free_disk = each.free_disk(cache);
    plan.keep_free = each.keep_free;
    return plan;
  };
  co_return co_await disk_.run(std::move(look));
}

async::Task<Result<Listing>> DownloadManager::list_repo(std::string repo, std::string revision) {
  auto task = ask(questions_.list(std::move(repo), std::move(revision)));
  return async::run_on(loop_.executor(), std::move(task));
}

async::Task<Result<std::vector<FoundRepo>>> DownloadManager::search(std::string words, std::size_t max) {
  auto task = ask(questions_.search(std::move(words), max));
  return async::run_on(loop_.executor(), std::move(task));
}

async::Task<Result<DownloadManager::Begun>> DownloadManager::begin(std::string name, bool detached) {
  return async::run_on(loop_.executor(), begin_here(std::move(name), detached));
}

async::Task<Result<DownloadManager::Begun>> DownloadManager::begin_here(std::string name, bool detached) {
  if (auto may = may_begin(); !may) co_return std::unexpected(std::move(may.error()));
  const auto id = downloader_.begin(std::move(name));
  if (!id) co_return std::unexpected(id.error());
  if (const auto resumed = downloader_.resume(*id); !resumed) co_return std::unexpected(resumed.error());
  Extra& extra = extras_[*id];
  if (detached) {
    extra.detached = true;
    save_soon();
    co_return Begun{*id, nullptr};
  }
  ++extra.waiting;
  save_soon();
  const auto leave = [this, number = *id](void*) { loop_.post([this, number] { left(number); }); };
  co_return Begun{*id, std::shared_ptr<void>(this, leave)};
}

// A waiting client has left.
void DownloadManager::left(std::uint64_t id) {
  const auto extra = extras_.find(id);
  if (extra == extras_.end()) return;
  --extra->second.waiting;
  const auto view = downloader_.find(id);
  if (stopping_ || extra->second.waiting > 0 || extra->second.detached || !view || !is_moving(view->state)) return;
  tasks_.spawn("pausing a download", pause_one(id));
}

async::Task<void> DownloadManager::pause_one(std::uint64_t id) {
  const auto ignored = co_await downloader_.pause(id);  // an error means that it has ended
}

async::Task<void> DownloadManager::pause_all() {
  std::vector<std::uint64_t> moving;
  for (const auto& view : downloader_.list())
    if (is_moving(view.state)) moving.push_back(view.id);
  for (const auto id : moving) co_await pause_one(id);
}

async::Task<std::optional<DownloadRow>> DownloadManager::next(std::uint64_t id, std::uint64_t seen, Millis patience) {
  return async::run_on(loop_.executor(), next_here(id, seen, patience));
}

async::Task<std::optional<DownloadRow>> DownloadManager::next_here(std::uint64_t id, std::uint64_t seen,
                                                                   Millis patience) {
  const MonoTime until = timers_.now() + patience;
  while (true) {
    auto view = downloader_.find(id);
    if (!view) co_return std::nullopt;
    DownloadRow now = row(std::move(*view));
    const auto left = std::chrono::duration_cast<Millis>(until - timers_.now());
    if (now.version != seen || left <= Millis(0) || stopping_) co_return now;
    auto waiting = turned(turn_);
    [[maybe_unused]] const auto woken = co_await async::with_timeout(timers_, left, std::move(waiting));
  }
}

async::Task<Result<DownloadRow>> DownloadManager::order(std::string name, DownloadOrder what) {
  return async::run_on(loop_.executor(), order_here(std::move(name), what));
}

async::Task<Result<DownloadRow>> DownloadManager::order_here(std::string name, DownloadOrder what) {
  const auto all = downloader_.list();
  const auto found = std::ranges::find(all.rbegin(), all.rend(), name, &DownloadView::name);
  if (found == all.rend())
    co_return fail(errc::file_not_found, fmt::format("unknown download '{}'; see /v1/downloads", name));
  const std::uint64_t id = found->id;
  Result<> done;
  switch (what) {
    case DownloadOrder::pause:
      done = co_await downloader_.pause(id);
      break;
    case DownloadOrder::resume:
      done = may_begin();
      if (done) done = downloader_.resume(id);
      if (done) extras_[id].detached = true;  // otherwise it would pause without a waiting client
      break;
    case DownloadOrder::cancel:
      done = co_await downloader_.cancel(id);
      break;
    case DownloadOrder::remove:
      if (!has_ended(found->state)) done = co_await downloader_.cancel(id);
      break;
  }
  if (!done) co_return std::unexpected(std::move(done.error()));
  auto view = downloader_.find(id);
  if (!view) co_return fail(errc::file_not_found, fmt::format("the download of '{}' was removed", name));
  DownloadRow now = row(std::move(*view));
  if (what == DownloadOrder::remove) {
    if (auto gone = downloader_.forget(id); !gone) co_return std::unexpected(std::move(gone.error()));
    extras_.erase(id);
    wake();
  }
  save_soon();
  co_return now;
}

async::Task<std::vector<DownloadRow>> DownloadManager::list() { return async::run_on(loop_.executor(), list_here()); }

async::Task<std::vector<DownloadRow>> DownloadManager::list_here() {
  std::vector<DownloadRow> rows;
  for (auto& view : downloader_.list()) {
    std::erase_if(rows, [&](const DownloadRow& older) { return older.view.name == view.name; });
    rows.push_back(row(std::move(view)));
  }
  co_return rows;
}

std::vector<std::string> DownloadManager::under_way() const {
  const MutexLock lock(mutex_);
  return under_way_;
}

async::Task<Result<Removed>> DownloadManager::remove(std::string repo, std::vector<std::string> paths,
                                                     std::vector<std::string> models) {
  auto work = [folder = RepoFolder(options_.hub.cache, repo), paths = std::move(paths), models = std::move(models)] {
    return remove_files(folder, paths, models);
  };
  return disk_.run(std::move(work));
}

DownloadRow DownloadManager::row(DownloadView view) const {
  DownloadRow row{.view = std::move(view)};
  const auto found = extras_.find(row.view.id);
  if (found == extras_.end()) return row;
  const Extra& extra = found->second;
  row.version = extra.version;
  if (row.view.state != DownloadState::running || extra.samples.size() < 2) return row;
  const auto& [since, first] = extra.samples.front();
  const auto& [until, last] = extra.samples.back();
  const auto millis = std::chrono::duration_cast<Millis>(until - since).count();
  if (millis > 0 && last >= first) row.rate = (last - first) * 1000 / static_cast<std::uint64_t>(millis);
  return row;
}

void DownloadManager::wake() { std::exchange(turn_, new_turn(loop_.executor()))->set(); }

// Called by the Downloader, which must not be called from here.
void DownloadManager::changed(const DownloadView& view) {
  Extra& extra = extras_[view.id];
  ++extra.version;
  if (view.state == DownloadState::running) {
    extra.samples.clear();
    if (!std::exchange(looking_, true)) tasks_.spawn("checks of downloads", look_now_and_then());
  }
  {
    const MutexLock lock(mutex_);
    std::erase(under_way_, view.name);
    if (is_moving(view.state) || view.state == DownloadState::paused) under_way_.push_back(view.name);
  }
  if (on_change_) on_change_(std::make_shared<const DownloadRow>(row(view)), true);
  wake();
  save_soon();
}

// Runs as long as a download runs.
async::Task<void> DownloadManager::look_now_and_then() {
  for (int ticks = 1;; ++ticks) {
    co_await timers_.sleep_for(options_.tick);
    const MonoTime now = timers_.now();
    bool any = false, progressed = false;
    std::set<std::uint64_t> known;
    for (auto& view : downloader_.list()) {
      known.insert(view.id);
      if (view.state != DownloadState::running) continue;
      any = true;
      Extra& extra = extras_[view.id];
      const std::uint64_t done = view.bytes_done();
      const bool moved = extra.samples.empty() || extra.samples.back().second != done;
      if (moved && !extra.samples.empty()) {
        const auto last = extra.samples.back().second;
        fetched_ += done > last ? done - last : 0;
      }
      extra.samples.emplace_back(now, done);
      while (extra.samples.size() > 2 && now - extra.samples.front().first > kRateWindow) extra.samples.pop_front();
      if (!moved) continue;
      ++extra.version;
      progressed = true;
      if (on_change_ && ticks % options_.ticks_per_change == 0)
        on_change_(std::make_shared<const DownloadRow>(row(std::move(view))), false);
    }
    std::erase_if(extras_, [&](const auto& extra) { return !known.contains(extra.first); });
    if (progressed) wake();
    if (!any) break;
  }
  looking_ = false;
}

std::string DownloadManager::record_text() const {
  std::vector<EarlierDownload> all;
  for (auto& view : downloader_.list()) {
    // Of several with one name all but the last have failed.
    std::erase_if(all, [&](const EarlierDownload& older) { return older.name == view.name; });
    if (has_ended(view.state)) continue;
    const auto extra = extras_.find(view.id);
    const bool detached = extra != extras_.end() && extra->second.detached;
    const bool failed = view.state == DownloadState::failed;
    all.push_back({std::move(view.name), !detached || !is_moving(view.state), std::move(view.repo),
                   std::move(view.files), failed ? std::move(view.error) : std::nullopt});
  }
  return write_record(all);
}

void DownloadManager::save_soon() {
  if (options_.record.empty() || stopping_) return;
  save_again_ = true;
  if (!std::exchange(saving_, true)) records_.spawn("record of downloads", save_record());
}

async::Task<void> DownloadManager::save_record() {
  co_await async::asio::post(loop_.executor(),
                             async::use_task);  // called by the Downloader, which must not be called yet
  while (std::exchange(save_again_, false)) {
    auto write = [file = options_.record, text = record_text()] { return write_state_file(file, text); };
    const Result<> written = co_await disk_.run(std::move(write));
    if (!written) log::warning("downloads", "the list of downloads cannot be saved: {}", written.error().message);
  }
  saving_ = false;
}

}  // namespace corral::downloads
