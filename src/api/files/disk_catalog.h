// The catalog of the models on this disk (models::Catalog), scanned again when necessary. An unknown name starts a
// scan, so that a new file is found, but at most once per kRescanInterval. The list of all models comes from the last
// scan without a wait; if that scan is old, the next one starts.
//
// One scan runs at a time, for all waiters. A hanging disk blocks only its scan and one thread; after kScanPatience
// waiters get the last catalog.
#pragma once

#include <atomic>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/offload.h"
#include "async/timer.h"
#include "base/mutex.h"
#include "models/registry.h"

namespace corral::api {

inline constexpr Millis kRescanInterval{2'000};
inline constexpr Millis kScanPatience{10'000};

// On any loop; loops must outlive the scans. The pool needs at least one thread of its own, and finish() must be called
// on it before this is destroyed.
class DiskCatalog {
 public:
  DiskCatalog(models::Registry& registry, async::ThreadPool& pool, async::Timers& timers)
      : registry_(registry), pool_(pool), timers_(timers) {}

  // Errors: those of models::Catalog::find().
  async::Task<Result<models::Catalog::Model>> find(std::string name);
  // All models of the last scan. If that is older than the interval, the next scan starts in the background.
  async::Task<std::shared_ptr<const models::Catalog>> catalog();
  // All models, after a new scan if the last one is older than the interval.
  async::Task<std::shared_ptr<const models::Catalog>> fresh_catalog();
  // Scans the disk regardless of the interval, because the folders have changed.
  async::Task<void> rescan();
  // All models of the last scan; empty before the first one.
  std::shared_ptr<const models::Catalog> last() const { return registry_.catalog(); }
  // Those of the next scan.
  RecipeTable recipes() const { return registry_.recipes(); }
  // Like find(), without a scan.
  Result<models::Catalog::Model> find_known(std::string_view name) const { return registry_.catalog()->find(name); }
  // Default values of request fields that belong to this name: those of an alias. A JSON object; empty: none.
  std::string defaults_of(std::string_view name) const {
    const auto catalog = registry_.catalog();
    const auto* const alias = catalog->find_alias(name);
    return alias == nullptr ? std::string() : alias->defaults;
  }

 private:
  // Waiters of one scan, each on its own loop.
  struct Scan {
    std::vector<std::pair<async::Executor, std::shared_ptr<async::Event>>> waiting;
  };
  bool is_stale(MonoTime now) const;
  // Returns after a scan that ended after this call, or after the patience. `begun_later`: the scan also began after
  // this call.
  async::Task<void> await_scan(bool begun_later);
  // The scan to wait for; starts one if necessary.
  Scan& join(bool begun_later) REQUIRES(mutex_);
  void scan();

  models::Registry& registry_;
  async::ThreadPool& pool_;
  async::Timers& timers_;
  std::atomic<MonoTime> last_scan_{MonoTime::min()};
  Mutex mutex_;  // never held during a scan
  std::unique_ptr<Scan> running_ GUARDED_BY(mutex_), next_ GUARDED_BY(mutex_);
};

}  // namespace corral::api
