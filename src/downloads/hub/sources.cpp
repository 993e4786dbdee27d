#include "downloads/hub/sources.h"

#include <algorithm>
#include <utility>

#include "downloads/hub/ollama_registry.h"

namespace corral::downloads {

async::Task<Result<Listing>> list_source(Hub& hub, SourceName source) {
  if (source.kind == SourceKind::address) return hub.look_at(std::move(source.address));
  if (source.kind == SourceKind::ollama) return list_ollama(hub, std::move(source.repo), std::move(source.tag));
  return hub.list(std::move(source.repo), std::move(source.revision));
}

namespace {

Result<Variant> chosen(const Listing& listing, const SourceName& source) {
  if (source.kind == SourceKind::hub) return choose(listing.tree, listing.repo, source.tag, source.file);
  auto variant = choose(listing.tree, listing.repo, {}, listing.tree.back().path);
  if (!variant || source.kind == SourceKind::address) return variant;
  // All extra files of the registry are fetched, too.
  variant->tag = source.tag;
  const auto taken = variant->in_order();
  for (const TreeFile& file : listing.tree) {
    if (std::ranges::count(taken, file.path, &TreeFile::path) > 0) continue;
    variant->bytes += file.size;
    variant->beside.push_back(file);
  }
  return variant;
}

}  // namespace

Result<Variant> choose_in(const Listing& listing, const SourceName& source) {
  auto variant = chosen(listing, source);
  if (variant && !source.projector && variant->projector) {
    variant->bytes -= variant->projector->size;
    variant->projector.reset();
  }
  return variant;
}

}  // namespace corral::downloads
