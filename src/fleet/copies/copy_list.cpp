#include "fleet/copies/copy_list.h"

#include <algorithm>

#include "mesh/copy/manifest.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {

MadeList make_list(const DiskModel& model, const Sha256& content, const mesh::SigningKey& own,
                   const mesh::GoOn& go_on) {
  auto hashes = model.hashes;
  if (std::ranges::any_of(hashes, [](const models::FileHash& one) { return one.steps.empty(); })) hashes.clear();
  if (hashes.empty()) {
    auto read = mesh::read_hashes(model.paths, go_on);
    if (!read) return {nullptr, read.error()};
    if (!*read) return {};
    hashes = std::move(**read);
  }
  auto made = mesh::make_manifest(model.name, model.source, model.paths, model.has_projector, std::move(hashes));
  if (!made) return {nullptr, made.error()};
  if (made->content != content) {
    return {nullptr,
            Error(make_error_code(mesh::errc::not_offered), "the files have changed and are being hashed again")};
  }
  auto offered = std::make_shared<mesh::OfferedModel>();
  auto list = mesh::sign_manifest(own, std::move(*made));
  offered->list = encode(list);
  offered->manifest = std::move(list.manifest);
  offered->paths = model.paths;
  return {std::move(offered), std::nullopt};
}

}  // namespace corral::fleet
