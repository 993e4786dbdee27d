#include "fleet/membership/membership.h"

#include "base/private_folder.h"
#include "fleet/allotment/allotter.h"
#include "fleet/base/errors.h"
#include "fleet/groups/holder_file.h"
#include "fleet/membership/start_record.h"
#include "mesh/identity/identity.h"

namespace corral::fleet {
namespace {

Result<Membership> with_store(const NodeOptions& options, mesh::SigningKey key, mesh::MemberStore store) {
  auto tokens = mesh::JoinTokenStore::open(options.folder);
  if (!tokens) return std::unexpected(tokens.error());
  const auto boot = mesh::count_boot(options.folder);
  if (!boot) return std::unexpected(boot.error());
  return Membership{std::move(key), *boot, std::move(store), std::move(*tokens)};
}

}  // namespace

bool has_membership(const NodeOptions& options) {
  std::error_code ignored;
  return std::filesystem::exists(options.folder / mesh::kMembersFile, ignored);
}

Result<mesh::SigningKey> own_key(const NodeOptions& options) {
  if (!options.identity.empty()) return mesh::read_identity_file(options.identity);
  if (auto safe = ensure_private_folder(options.folder); !safe) return std::unexpected(safe.error());
  return mesh::open_identity(options.folder);
}

Result<Membership> open_membership(const NodeOptions& options) {
  if (!has_membership(options)) return fail(errc::no_mesh, "this node is in no mesh");
  if (auto safe = ensure_private_folder(options.folder); !safe) return std::unexpected(safe.error());
  auto key = own_key(options);
  if (!key) return std::unexpected(key.error());
  auto store = mesh::MemberStore::open(options.folder);
  if (!store) return std::unexpected(store.error());
  if (!*store) return fail(errc::no_mesh, "this node is in no mesh");
  return with_store(options, std::move(*key), std::move(**store));
}

Result<Membership> begin_membership(const NodeOptions& options, mesh::SigningKey key, mesh::MemberSet members) {
  if (auto safe = ensure_private_folder(options.folder); !safe) return std::unexpected(safe.error());
  auto store = mesh::MemberStore::begin(options.folder, std::move(members));
  if (!store) return std::unexpected(store.error());
  return with_store(options, std::move(key), std::move(*store));
}

void forget_membership(const NodeOptions& options) {
  // Members last: as long as they exist the node is a member, so after an interruption it can leave again.
  std::error_code ignored;
  if (options.identity.empty()) std::filesystem::remove(options.folder / mesh::kIdentityFile, ignored);
  for (const auto* name :
       {"peers", kHolderFile, kOrdersFile, kStartFile, mesh::kTokensFile, mesh::kEpochFile, mesh::kMembersFile})
    std::filesystem::remove(options.folder / name, ignored);
}

}  // namespace corral::fleet
