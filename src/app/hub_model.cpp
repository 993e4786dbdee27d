#include "app/hub_model.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "base/log.h"
#include "models/errors.h"
#include "models/registry.h"

namespace corral::app {
namespace {

constexpr Millis kLook{1'000};
constexpr std::uint64_t kStep = 10;  // per cent, between two lines of the log

}  // namespace

Result<HubFile> find_in_hub_cache(const std::filesystem::path& cache, const std::string& name) {
  const auto catalog = models::scan({.models_dirs = {}, .hub_cache = cache}, nullptr).catalog;
  const auto found = catalog->find(name);
  if (!found) return std::unexpected(found.error());
  return HubFile{(*found)->name.value(), (*found)->paths.front()};
}

async::Task<Result<HubFile>> download_from_hub(downloads::DownloadManager& download_manager, std::string name) {
  using downloads::DownloadState;
  const auto plan = co_await download_manager.plan(name);
  if (!plan) co_return std::unexpected(plan.error());
  if (const auto missing = plan->bytes() - plan->bytes_here(); missing > 0)
    log::info("app", "downloading '{}' from the hub: {:.1f} MB", plan->checkpoint, static_cast<double>(missing) / 1e6);
  const auto begun = co_await download_manager.begin(name, false);
  if (!begun) co_return std::unexpected(begun.error());
  std::uint64_t seen = 0, logged = 0;
  while (true) {
    const auto row = co_await download_manager.next(begun->id, seen, kLook);
    if (!row) co_return fail(models::errc::model_not_found, "its download was removed");
    seen = row->version;
    const auto& view = row->view;
    if (view.state == DownloadState::done) co_return HubFile{plan->checkpoint, view.main_file};
    if (view.state == DownloadState::failed && view.error) co_return std::unexpected(*view.error);
    if (view.state != DownloadState::queued && view.state != DownloadState::running)
      co_return fail(models::errc::model_not_found, "its download was stopped: start the server again to resume it");
    const auto percent = view.bytes() > 0 ? view.bytes_done() * 100 / view.bytes() : 0;
    if (percent < logged + kStep) continue;
    logged = percent - percent % kStep;
    log::info("app", "'{}': {} % are here", plan->checkpoint, logged);
  }
}

}  // namespace corral::app
