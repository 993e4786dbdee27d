#include "downloads/plan.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "downloads/cache_layout.h"
#include "downloads/hub/sources.h"
#include "downloads/transfer/part_file.h"
#include "downloads/transfer/progress_file.h"

namespace corral::downloads {
namespace {

constexpr std::uint64_t kProcess = 256ull << 20;

}  // namespace

async::Task<Result<Lookup>> look_up(Hub& hub, SourceName source) {
  Result<Listing> listing = co_await list_source(hub, source);
  if (!listing) co_return std::unexpected(std::move(listing.error()));
  auto variant = choose_in(*listing, source);
  if (!variant) co_return std::unexpected(std::move(variant.error()));
  co_return Lookup{std::move(*listing), std::move(*variant)};
}

std::uint64_t Plan::bytes() const {
  std::uint64_t sum = 0;
  for (const PlannedFile& file : files) sum += file.size;
  return sum;
}
std::uint64_t Plan::bytes_here() const {
  std::uint64_t sum = 0;
  for (const PlannedFile& file : files) sum += file.here;
  return sum;
}

std::uint64_t Plan::disk_needed() const {
  std::uint64_t sum = 0;
  for (const PlannedFile& file : files) sum += file.size - std::min(file.size, file.reserved);
  return sum;
}

Plan make_plan(const SourceName& source, const Lookup& found, const std::filesystem::path& cache) {
  const RepoFolder folder(cache, found.listing.repo);
  Plan plan{.repo = found.listing.repo, .at = found.listing.at, .tag = found.variant.tag, .cache = cache};
  const bool at_address = source.kind == SourceKind::address;
  plan.checkpoint = at_address ? source.address : fmt::format("{}:{}", plan.repo, plan.tag);
  std::set<std::string> oids;  // the same content under two names is fetched once
  for (const TreeFile& file : found.variant.in_order()) {
    const bool again = !oids.insert(file.oid).second;
    const bool whole = has_blob(folder, file.oid, file.size);
    const std::uint64_t here = whole ? file.size : load_progress(folder.progress(file.oid), file.size).done.bytes();
    plan.files.push_back({file.path, file.size, here, whole || again ? file.size : reserved_bytes(folder, file)});
  }
  if (!plan.files.empty()) plan.main_file = folder.snapshot(plan.at.commit) / plan.files.back().path;
  return plan;
}

std::uint64_t memory_by_size(std::uint64_t bytes) { return bytes + bytes / 10 + kProcess; }
std::uint64_t size_for_memory(std::uint64_t memory) { return memory > kProcess ? (memory - kProcess) / 11 * 10 : 0; }

}  // namespace corral::downloads
