// Looks models up by the name a client uses. A name that isn't known makes it look at the disk again, so that a file
// that was just put there is found; not more often than every kRescanInterval, whatever clients ask for. A list of all
// waits for no disk: it is as of the last scan, and starts the next one when that is old.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>

#include "async/offload.h"
#include "async/timer.h"
#include "models/registry.h"

namespace corral::api {

inline constexpr Millis kRescanInterval{2'000};

// On any loop. The pool must be told to finish() before the finder goes.
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
  bool is_stale(MonoTime now) const;
  void refresh_beside(MonoTime now);
  // Returns once a scan that is no older than the interval is there.
  async::Task<void> refresh();
  // Returns once a scan is there that ended after `asked`. Blocks.
  void scan_since(MonoTime asked);

  models::Registry& registry_;
  async::ThreadPool& pool_;
  async::Timers& timers_;
  std::mutex scanning_;  // held during a scan, on threads of the pool only; who waits for it gets that scan's result
  std::atomic<MonoTime> last_scan_{MonoTime::min()};
  std::atomic<bool> refreshing_{false};  // a scan that nobody waits for is under way
};

}  // namespace corral::api
