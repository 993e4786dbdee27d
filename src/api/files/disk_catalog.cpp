#include "api/files/disk_catalog.h"

#include "base/log.h"

namespace corral::api {
namespace {

async::Task<bool> until_set(std::shared_ptr<async::Event> event) {
  co_await event->wait();
  co_return true;
}

}  // namespace

bool DiskCatalog::is_stale(MonoTime now) const {
  const auto last = last_scan_.load();
  return last == MonoTime::min() || now - last >= kRescanInterval;
}

DiskCatalog::Scan& DiskCatalog::join(bool begun_later) {
  if (!running_) {
    running_ = std::make_unique<Scan>();
    pool_.post([this] { scan(); });
    return *running_;
  }
  if (!begun_later) return *running_;
  if (!next_) next_ = std::make_unique<Scan>();
  return *next_;
}

// On the pool.
void DiskCatalog::scan() {
  for (bool more = true; more;) {
    try {
      registry_.rescan();
    } catch (const std::exception& error) {
      log::error("models", "the scan of the disks failed: {}", error.what());
    }
    last_scan_.store(timers_.now());
    std::unique_ptr<Scan> done;
    {
      const MutexLock lock(mutex_);
      done = std::exchange(running_, std::move(next_));
      more = running_ != nullptr;
    }
    // Keep no reference to the event here: its loop may end as soon as it is set.
    for (auto& [executor, event] : done->waiting)
      async::asio::post(executor, [wake = std::move(event)] { wake->set(); });
  }
}

async::Task<void> DiskCatalog::await_scan(bool begun_later) {
  const auto executor = co_await async::asio::this_coro::executor;
  const auto done = std::make_shared<async::Event>(executor);
  {
    const MutexLock lock(mutex_);
    join(begun_later).waiting.emplace_back(executor, done);
  }
  auto waiting = until_set(done);
  const auto in_time = co_await async::with_timeout(timers_, kScanPatience, std::move(waiting));
  if (!in_time) log::warning("models", "the disks do not respond: the list of models is from the last scan");
}

async::Task<void> DiskCatalog::rescan() { return await_scan(true); }

async::Task<Result<models::Catalog::Model>> DiskCatalog::find(std::string name) {
  auto known = find_known(name);
  if (known) co_return known;
  if (is_stale(timers_.now())) co_await await_scan(false);
  // Even without a scan here: another one may have ended since the first lookup.
  co_return find_known(name);
}

async::Task<std::shared_ptr<const models::Catalog>> DiskCatalog::catalog() {
  // Before the first scan there is no catalog.
  if (last_scan_.load() == MonoTime::min()) co_return co_await fresh_catalog();
  if (is_stale(timers_.now())) {
    const MutexLock lock(mutex_);
    join(false);
  }
  co_return registry_.catalog();
}

async::Task<std::shared_ptr<const models::Catalog>> DiskCatalog::fresh_catalog() {
  if (is_stale(timers_.now())) co_await await_scan(false);
  co_return registry_.catalog();
}

}  // namespace corral::api
