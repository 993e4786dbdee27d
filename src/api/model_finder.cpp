#include "api/model_finder.h"

namespace corral::api {

bool ModelFinder::scan_if_stale(MonoTime asked) {
  const std::scoped_lock lock(scanning_);
  if (last_scan_.load() > asked) return true;  // made while this call waited its turn
  registry_.rescan();
  last_scan_.store(timers_.now());
  return true;
}

bool ModelFinder::is_stale() const {
  const auto last = last_scan_.load();
  return last == MonoTime::min() || timers_.now() - last >= kRescanInterval;
}

void ModelFinder::refresh_beside() {
  if (refreshing_.exchange(true)) return;
  pool_.post([this, now = timers_.now()] {
    scan_if_stale(now);
    refreshing_.store(false);
  });
}

async::Task<bool> ModelFinder::refresh() {
  if (!is_stale()) co_return false;
  const auto now = timers_.now();
  auto scan = [this, now] { return scan_if_stale(now); };
  co_return co_await pool_.run(scan);
}

async::Task<void> ModelFinder::rescan() {
  auto scan = [this] {
    const std::scoped_lock lock(scanning_);
    registry_.rescan();
    last_scan_.store(timers_.now());
    return true;
  };
  co_await pool_.run(scan);
}

async::Task<Result<models::Catalog::Model>> ModelFinder::find(std::string name) {
  auto known = find_known(name);
  if (known) co_return known;
  const bool scanned = co_await refresh();
  if (scanned) co_return find_known(name);
  co_return known;
}

async::Task<std::shared_ptr<const models::Catalog>> ModelFinder::catalog() {
  // Before the first scan there is nothing to answer with.
  if (last_scan_.load() == MonoTime::min()) co_return co_await fresh_catalog();
  if (is_stale()) refresh_beside();
  co_return registry_.catalog();
}

async::Task<std::shared_ptr<const models::Catalog>> ModelFinder::fresh_catalog() {
  co_await refresh();
  co_return registry_.catalog();
}

}  // namespace corral::api
