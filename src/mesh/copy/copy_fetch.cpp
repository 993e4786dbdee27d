#include "mesh/copy/copy_fetch.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include <fmt/format.h>

#include "async/run_or_leave.h"
#include "async/spawned_task.h"
#include "base/log.h"
#include "mesh/copy/copy_wire.h"
#include "mesh/copy/partial_model.h"
#include "mesh/identity/errors.h"

namespace corral::mesh {
namespace {

namespace fs = std::filesystem;
using async::Task;

constexpr std::size_t kAhead = 2;  // requests in flight
constexpr Millis kReportInterval{500};

bool is_of_the_disk(const Error& error) {
  return error.code == errc::disk_full || error.code == errc::name_taken ||
         error.code.category() == std::system_category();
}

// True for as long as this lives, also when the task is cancelled.
class DiskWait {
 public:
  explicit DiskWait(bool& flag) : flag_(flag) { flag_ = true; }
  ~DiskWait() { flag_ = false; }
  DiskWait(const DiskWait&) = delete;
  DiskWait& operator=(const DiskWait&) = delete;

 private:
  bool& flag_;
};

class Fetch {
 public:
  ~Fetch() { *given_up_ = true; }
  Fetch(const Fetch&) = delete;
  Fetch& operator=(const Fetch&) = delete;

  Fetch(CopyOrder order, async::ThreadPool& files, async::Timers& timers, CopyRules rules)
      : order_(std::move(order)), files_(files), timers_(timers), rules_(rules), reported_at_(timers.now()) {}

  Task<Result<std::vector<fs::path>>> run() {
    auto pause = rules_.pause;
    for (int failures = 0; failures < rules_.max_failures;) {
      const auto source = next_source();
      // Sources that refused are final; unreachable ones may come back.
      if (!source && !refused_.empty() && last_) co_return std::unexpected(*last_);
      const auto before = ranges_;
      Result<> done = no_source();
      if (source) done = co_await fetch_from(*source);
      if (done && model_ && model_->missing().empty()) co_return co_await finish();
      if (done) continue;
      if (is_of_the_disk(done.error())) co_return std::unexpected(done.error());
      last_ = done.error();
      if (source) note_failure(*source, done.error());
      report_source(std::nullopt);
      const bool moved = ranges_ != before;
      failures = moved ? 1 : failures + 1;
      pause = moved ? rules_.pause : std::min(2 * pause, rules_.longest_pause);
      co_await timers_.sleep_for(pause);
    }
    co_return std::unexpected(*last_);
  }

 private:
  static Result<> no_source() {
    return fail(errc::unreachable, "no reachable node offers a copy; the copy continues when one does");
  }
  void note_failure(const NodeId& source, const Error& error) {
    log::info("mesh", "copy from {}: {}", short_text(source), error.message);
    if (error.code == errc::not_offered || error.code == errc::forged) refused_.insert(source);
    ++tries_[source];
  }
  GoOn go_on() const {
    return [given_up = given_up_] { return !*given_up; };
  }

  // The source with the fewest tries, the first one in the list if there are several.
  std::optional<NodeId> next_source() {
    std::optional<NodeId> found;
    for (const auto& node : order_.sources()) {
      if (refused_.contains(node)) continue;
      if (!found || tries_[node] < tries_[*found]) found = node;
    }
    return found;
  }

  Task<Result<>> fetch_from(NodeId source) {
    auto opened = co_await order_.open(source);
    if (!opened) co_return std::unexpected(opened.error());
    const auto stream = std::move(*opened);
    CopyReader reader(*stream);
    auto asking = get_manifest(*stream, reader);
    auto list = co_await async::with_timeout(timers_, rules_.answer, std::move(asking));
    if (!list) co_return fail(errc::timed_out, "it didn't send the list of files in time");
    if (!*list) co_return std::unexpected(list->error());
    if (!model_) {
      if (auto made = co_await open_partial(std::move(**list)); !made) co_return made;
    }
    report_source(source);
    auto getting = get_ranges(*stream, reader, source);
    auto got = co_await async::race(std::move(getting), until_stalled(reader));
    if (got) co_return std::move(*got);
    // Wait for the current write: the next try reads what it changes.
    const Result<> stalled = fail(errc::timed_out, "it stopped sending bytes");
    const auto ended = co_await end(stalled);
    co_return note(ended, source);
  }

  // Any byte of the stream shows that it isn't stalled.
  Task<void> until_stalled(const CopyReader& reader) {
    while (true) {
      const auto before = reader.received();
      co_await timers_.sleep_for(rules_.stall);
      if (reader.received() == before && !waits_for_disk_) co_return;
    }
  }

  Task<Result<SignedManifest>> get_manifest(Stream& stream, CopyReader& reader) {
    const auto question = encode(CopyQuestion(WantManifest{order_.content}));
    if (auto sent = co_await stream.write(question); !sent) co_return std::unexpected(sent.error());
    const auto length = co_await reader.answer('m', kLargestManifest);
    if (!length) co_return std::unexpected(length.error());
    std::string bytes(*length, '\0');
    if (auto got = co_await reader.read(bytes.data(), bytes.size()); !got) co_return std::unexpected(got.error());
    auto list = decode_manifest(bytes);
    if (!list) co_return list;
    if (list->manifest.content != order_.content || list->author != stream.peer().key) {
      co_return fail(errc::forged, "its list is of another model, or signed by another node");
    }
    if (model_ && !same_files(list->manifest))
      co_return fail(errc::forged, "its list differs from the first one of this content");
    co_return list;
  }

  // Compares the bytes only: the names are those of the first list.
  bool same_files(const Manifest& other) const {
    return std::ranges::equal(model_->manifest().files, other.files, [](const CopyFile& a, const CopyFile& b) {
      return a.hash == b.hash && a.ranges == b.ranges && a.bytes == b.bytes;
    });
  }

  Task<Result<>> open_partial(SignedManifest list) {
    auto work = [folder = order_.folder, list = std::move(list), go_on = go_on()] {
      return Shared(PartialModel::open(folder, list, go_on));
    };
    auto opened = co_await async::run_or_leave(files_, timers_, std::move(work));
    if (!opened.model) co_return std::unexpected(*opened.error);
    model_ = std::move(opened.model);
    co_return Result<>();
  }

  // Sends requests ahead while the last answer is written.
  Task<Result<>> get_ranges(Stream& stream, CopyReader& reader, NodeId source) {
    const auto executor = co_await async::asio::this_coro::executor;
    const auto wanted = model_->missing();
    // Two buffers are reused in turn: fresh memory is slow.
    std::shared_ptr<std::string> written_from, spare;
    std::size_t asked = 0;
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      for (; asked < wanted.size() && asked < at + kAhead; ++asked) {
        const auto question = encode(CopyQuestion(wanted[asked]));
        if (auto sent = co_await stream.write(question); !sent) co_return co_await end(sent);
      }
      auto bytes = std::exchange(spare, {});
      if (!bytes) bytes = std::make_shared<std::string>();
      auto got = get_range(reader, wanted[at], *bytes);
      auto came = co_await std::move(got);
      if (!came) co_return co_await end(came);
      if (auto written = co_await end({}); !written) co_return note(written, source);
      spare = std::exchange(written_from, bytes);
      auto put = [model = model_, range = wanted[at], bytes] { return model->put(range, *bytes); };
      writing_ =
          std::make_unique<async::SpawnedTask<Result<>>>(executor, "write of a copy", files_.run(std::move(put)));
    }
    auto written = co_await end({});
    co_return note(written, source);
  }

  Task<Result<>> get_range(CopyReader& reader, RangeId range, std::string& bytes) {
    const auto length = co_await reader.answer('r', kRangeBytes);
    if (!length) co_return std::unexpected(length.error());
    if (*length != bytes_of(model_->manifest(), range)) co_return fail(errc::malformed, "a range has a wrong length");
    bytes.resize_and_overwrite(*length, [](char*, std::size_t size) { return size; });
    co_return co_await reader.read(bytes.data(), bytes.size());
  }

  // Waits for the current write; returns its error, else `otherwise`.
  Task<Result<>> end(Result<> otherwise) {
    if (writing_) {
      const DiskWait waiting(waits_for_disk_);  // a slow disk is no peer's fault
      while (true) {
        const bool ended = co_await writing_->wait(timers_, rules_.stall);
        if (ended) break;
      }
      auto written = std::exchange(writing_, nullptr)->take();
      if (!written) co_return written;
      ++ranges_;
      report(false);
    }
    co_return otherwise;
  }

  Result<> note(const Result<>& written, NodeId source) {
    if (!written && written.error().code == errc::damaged && ++damaged_[source] >= rules_.max_damaged) {
      refused_.insert(source);
    }
    return written;
  }

  Task<Result<std::vector<fs::path>>> finish() {
    report(true);
    auto inspecting = order_.inspect(model_->parts());
    const auto sound = co_await std::move(inspecting);
    if (!sound) co_return std::unexpected(sound.error());
    auto finish = [model = model_] { return Named(model->finish()); };
    auto named = co_await async::run_or_leave(files_, timers_, std::move(finish));
    if (named.paths)
      files_.post([model = model_] { settle(*model); });  // a disk may be slow, and the model is usable already
    co_return std::move(named.paths);
  }

  static void settle(PartialModel& model) {
    if (const auto settled = model.settle(); !settled)
      log::warning("mesh", "a loss of power may damage a copy, because it isn't flushed to the disk: {}",
                   settled.error().message);
  }

  void report(bool now) {
    const auto time = timers_.now();
    if (!order_.on_progress || (!now && time - reported_at_ < kReportInterval)) return;
    const auto done = model_->bytes_there();
    const auto seconds = std::chrono::duration<double>(time - reported_at_).count();
    if (reported_ && seconds > 0) rate_ = rate_ * 0.7 + 0.3 * static_cast<double>(done - *reported_) / seconds;
    reported_ = done;
    reported_at_ = time;
    order_.on_progress({done, model_->manifest().bytes(), rate_, from_});
  }

  // The node that sends from now on; nothing: no bytes come until the next try. Each measures a new rate.
  void report_source(std::optional<NodeId> source) {
    from_ = source;
    rate_ = 0;
    reported_.reset();
    if (model_) report(true);
  }

  // Results of a thread must be copyable.
  struct Shared {
    explicit Shared(Result<std::unique_ptr<PartialModel>> opened) {
      if (opened) {
        model = std::move(*opened);
      } else {
        error = opened.error();
      }
    }
    std::shared_ptr<PartialModel> model;
    std::optional<Error> error;
  };
  struct Named {
    explicit Named(Result<std::vector<fs::path>> result) : paths(std::move(result)) {}
    Result<std::vector<fs::path>> paths;
  };

  const CopyOrder order_;
  async::ThreadPool& files_;
  async::Timers& timers_;
  const CopyRules rules_;
  std::shared_ptr<PartialModel> model_;
  // Shared with the work on threads for files.
  const std::shared_ptr<std::atomic<bool>> given_up_ = std::make_shared<std::atomic<bool>>(false);
  // The current write. It changes the model on its thread: call end() before reading the model's ranges.
  std::unique_ptr<async::SpawnedTask<Result<>>> writing_;
  bool waits_for_disk_ = false;
  std::optional<NodeId> from_;
  std::size_t ranges_ = 0;  // written by this run
  std::map<NodeId, int> tries_, damaged_;
  std::set<NodeId> refused_;
  std::optional<Error> last_;
  MonoTime reported_at_;
  std::optional<std::uint64_t> reported_;
  double rate_ = 0;
};

}  // namespace

Task<Result<std::vector<fs::path>>> fetch_copy(CopyOrder order, async::ThreadPool& files, async::Timers& timers,
                                               CopyRules rules) {
  Fetch fetch(std::move(order), files, timers, rules);
  co_return co_await fetch.run();
}

}  // namespace corral::mesh
