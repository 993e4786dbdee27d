#include "api/model_finder.h"

namespace corral::api {

void ModelFinder::scan_since(MonoTime asked) {
  const std::scoped_lock lock(scanning_);
  if (last_scan_.load() > asked) return;  // made while this call waited its turn
  registry_.rescan();
  last_scan_.store(timers_.now());
}

bool ModelFinder::is_stale(MonoTime now) const {
  const auto last = last_scan_.load();
  return last == MonoTime::min() || now - last >= kRescanInterval;
}

void ModelFinder::refresh_beside(MonoTime now) {
  if (refreshing_.exchange(true)) return;
  pool_.post([this, now] {
    scan_since(now);
    refreshing_.store(false);
  });
}

async::Task<void> ModelFinder::refresh() {
  const auto now = timers_.now();
  if (!is_stale(now)) co_return;
  auto scan = [this, now] {
    scan_since(now);
    return true;
  };
  co_await pool_.run(scan);
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
  co_await refresh();
  // Also when there was nothing to do: a scan may have ended since the first look.
  co_return find_known(name);
}

async::Task<std::shared_ptr<const models::Catalog>> ModelFinder::catalog() {
  // Before the first scan there is nothing to answer with.
  if (last_scan_.load() == MonoTime::min()) co_return co_await fresh_catalog();
  const auto now = timers_.now();
  if (is_stale(now)) refresh_beside(now);
  co_return registry_.catalog();
}

async::Task<std::shared_ptr<const models::Catalog>> ModelFinder::fresh_catalog() {
  co_await refresh();
  co_return registry_.catalog();
}

}  // namespace corral::api
