// Looks models up by the name a client uses. A name that isn't known makes it look at the disk again, so that a file
// that was just put there is found; not more often than every kRescanInterval, whatever clients ask for. A list of all
// waits for no disk: it is as of the last scan, and starts the next one when that is old.
//
// There is one scan at a time, for all who wait for one. A disk that hangs keeps its scan, and one thread; who waits
// for it gets what is known after kScanPatience, and nothing else needs that thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/offload.h"
#include "async/timer.h"
#include "models/registry.h"

namespace corral::api {

inline constexpr Millis kRescanInterval{2'000};
inline constexpr Millis kScanPatience{10'000};

// On any loop; loops must outlive the scans. The pool, of one thread at least that nobody else needs, must be told to
// finish() before the finder goes.
class ModelFinder {
 public:
  ModelFinder(models::Registry& registry, async::ThreadPool& pool, async::Timers& timers)
      : registry_(registry), pool_(pool), timers_(timers) {}

  // Errors: model_not_found (with close names), or what is wrong with the file of that name.
  async::Task<Result<models::Catalog::Model>> find(std::string name);
  // All models as of the last scan. When that is older than the interval the next one starts, and isn't waited for.
  async::Task<std::shared_ptr<const models::Catalog>> catalog();
  // All models, scanned again when the last scan is older than the interval.
  async::Task<std::shared_ptr<const models::Catalog>> fresh_catalog();
  // Looks at the disk, however short the last look is ago: where to look has changed.
  async::Task<void> rescan();
  // As find(), without looking at the disk.
  Result<models::Catalog::Model> find_known(std::string_view name) const { return registry_.catalog()->find(name); }

 private:
  // Those who wait for one scan, each on its own loop.
  struct Scan {
    std::vector<std::pair<async::Executor, std::shared_ptr<async::Event>>> waiting;
  };
  bool is_stale(MonoTime now) const;
  // Returns once a scan is there that ended after this call, or after the patience. `begun_later`: and began after it.
  async::Task<void> await_scan(bool begun_later);
  // The scan to wait for; begins one if need be.
  Scan& join(bool begun_later);
  void scan();

  models::Registry& registry_;
  async::ThreadPool& pool_;
  async::Timers& timers_;
  std::atomic<MonoTime> last_scan_{MonoTime::min()};
  std::mutex mutex_;  // of these, never held during a scan
  std::unique_ptr<Scan> running_, next_;
};

}  // namespace corral::api
