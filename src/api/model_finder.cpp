#include "api/model_finder.h"

namespace corral::api {

bool ModelFinder::scan_if_stale(MonoTime asked) {
  const std::scoped_lock lock(scanning_);
  if (last_scan_.load() > asked) return true;  // made while this call waited its turn
  registry_.rescan();
  last_scan_.store(timers_.now());
  return true;
}

async::Task<bool> ModelFinder::refresh() {
  const auto now = timers_.now();
  const auto last = last_scan_.load();
  if (last != MonoTime::min() && now - last < kRescanInterval) co_return false;
  auto scan = [this, now] { return scan_if_stale(now); };
  co_return co_await pool_.run(scan);
}

async::Task<Result<models::Catalog::Model>> ModelFinder::find(std::string name) {
  auto known = find_known(name);
  if (known) co_return known;
  const bool scanned = co_await refresh();
  if (scanned) co_return find_known(name);
  co_return known;
}

async::Task<std::shared_ptr<const models::Catalog>> ModelFinder::catalog() {
  co_await refresh();
  co_return registry_.catalog();
}

}  // namespace corral::api
