#include "config/files/key_file.h"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/state_file.h"
#include "base/unique_fd.h"
#include "config/errors.h"

namespace corral::config {
namespace {

namespace fs = std::filesystem;

std::unexpected<Error> not_saved(const fs::path& path, std::string_view why) {
  return fail(errc::not_saved, fmt::format("cannot write the key file {}: {}", path.native(), why));
}

// Held while the key file is read and replaced. The lock is on a separate file, because each replacement of the key
// file is a new inode.
Result<UniqueFd> lock(const fs::path& path) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  UniqueFd file(::open((path.native() + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file) return not_saved(path, std::generic_category().message(errno));
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return not_saved(path, std::generic_category().message(errno));
  }
  return file;
}

Result<> write(const fs::path& path, const KeyList& keys) {
  const auto written = write_state_file(path, to_text(keys));
  if (!written) return not_saved(path, written.error().message);
  return {};
}

Result<const Key*> pick(const KeyList& keys, std::string_view which) {
  if (const Key* const key = keys.find(which)) return key;
  const auto named = std::ranges::count(keys.keys, which, &Key::name);
  if (named == 1) return &*std::ranges::find(keys.keys, which, &Key::name);
  if (named > 1)
    return fail(errc::no_such_key,
                fmt::format("{} keys have the name '{}': use the identifier from corral key list", named, which), "id");
  return fail(errc::no_such_key, fmt::format("unknown key '{}': see corral key list", which), "id");
}

}  // namespace

Result<std::optional<KeyList>> read_key_file(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 &&
      ((status.st_uid != ::geteuid() && status.st_uid != 0) || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)) {
    return fail(errc::unreadable_file,
                fmt::format("the key file {} belongs to another user, or others may write it: run chmod 600 on it",
                            path.native()));
  }
  const auto text = read_state_file(path);
  if (!text) return fail(errc::unreadable_file, text.error().message);
  if (!*text) return std::nullopt;
  auto keys = parse_keys(**text, path.native());
  if (!keys) return std::unexpected(keys.error());
  return std::move(*keys);
}

Result<NewKey> create_key(const fs::path& path, std::string name, Scopes scopes, std::int64_t now_millis,
                          KeyTerms terms) {
  const auto held = lock(path);
  if (!held) return std::unexpected(held.error());
  auto read = read_key_file(path);
  if (!read) return std::unexpected(read.error());
  KeyList keys = read->value_or(KeyList());
  auto made = add_key(keys, std::move(name), scopes, now_millis, terms);
  if (!made) return made;
  if (const auto written = write(path, keys); !written) return std::unexpected(written.error());
  return made;
}

Result<RevokedKey> revoke_key(const fs::path& path, std::string_view which) {
  const auto held = lock(path);
  if (!held) return std::unexpected(held.error());
  auto read = read_key_file(path);
  if (!read) return std::unexpected(read.error());
  KeyList keys = read->value_or(KeyList());
  const auto picked = pick(keys, which);
  if (!picked) return std::unexpected(picked.error());
  RevokedKey revoked{**picked, keys.keys.size() - 1};
  std::erase_if(keys.keys, [&](const Key& key) { return key.id == revoked.key.id; });
  if (const auto written = write(path, keys); !written) return std::unexpected(written.error());
  return revoked;
}

KeyUses read_key_uses(const fs::path& path) {
  KeyUses uses;
  const auto text = read_state_file(path);
  const auto parsed = text && *text ? json::parse(**text) : Result<json::Value>(json::Value());
  const auto* const object = parsed ? parsed->if_object() : nullptr;
  if (object == nullptr) return uses;
  for (const auto& [id, when] : *object) {
    if (when.is_int64()) uses[std::string(id)] = when.get_int64();
  }
  return uses;
}

Result<> write_key_uses(const fs::path& path, const KeyUses& uses) {
  json::Object object;
  for (const auto& [id, when] : uses) object[id] = when;
  return write_state_file(path, json::serialize(object) + "\n");
}

}  // namespace corral::config
