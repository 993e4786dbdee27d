#include "api/access/key_store.h"

#include "base/log.h"

namespace corral::api {

Result<std::unique_ptr<KeyStore>> KeyStore::open(std::filesystem::path file, std::filesystem::path uses_file,
                                                 std::string api_key) {
  auto keys = config::read_key_file(file);
  if (!keys) return std::unexpected(keys.error());
  return std::unique_ptr<KeyStore>(
      new KeyStore(std::move(file), std::move(uses_file), std::move(api_key), std::move(*keys)));
}

KeyStore::KeyStore(std::filesystem::path file, std::filesystem::path uses_file, std::string api_key,
                   std::optional<config::KeyList> keys)
    : file_(std::move(file)),
      uses_file_(std::move(uses_file)),
      api_key_(std::move(api_key)),
      keys_(std::move(keys)),
      saved_uses_(config::read_key_uses(uses_file_)) {
  table_ = std::make_shared<KeyTable>(api_key_, keys_, saved_uses_);
}

std::shared_ptr<const KeyTable> KeyStore::table() const {
  const MutexLock lock(mutex_);
  return table_;
}

void KeyStore::replace(std::optional<std::string> api_key, std::optional<config::KeyList> keys) {
  std::shared_ptr<const KeyTable> table;
  {
    const MutexLock lock(mutex_);
    if (api_key) api_key_ = std::move(*api_key);
    if (keys) keys_ = std::move(*keys);
    table = table_ = std::make_shared<KeyTable>(api_key_, keys_, table_->uses());
  }
  if (changed_) changed_(std::move(table));
}

void KeyStore::set_api_key(std::string api_key) {
  const MutexLock replacing(replacing_);
  {
    const MutexLock lock(mutex_);
    if (api_key == api_key_) return;
  }
  replace(std::move(api_key), std::nullopt);
}

void KeyStore::reread() {
  const MutexLock replacing(replacing_);
  auto keys = config::read_key_file(file_);
  if (!keys) log::error("keys", "{}; the keys did not change", keys.error().message);
  if (keys && *keys) replace(std::nullopt, std::move(**keys));
}

Result<config::NewKey> KeyStore::create(std::string name, config::Scopes scopes, config::KeyTerms terms, WallTime now) {
  auto made = config::create_key(file_, std::move(name), scopes, epoch_millis(now), terms);
  if (made) reread();
  return made;
}

Result<config::RevokedKey> KeyStore::revoke(std::string_view which) {
  auto revoked = config::revoke_key(file_, which);
  if (revoked) reread();
  return revoked;
}

Result<config::KeyList> KeyStore::list() const {
  auto keys = config::read_key_file(file_);
  if (!keys) return std::unexpected(keys.error());
  return std::move(*keys).value_or(config::KeyList());
}

void KeyStore::save_uses() {
  auto uses = table()->uses();
  {
    const MutexLock lock(mutex_);
    if (uses == saved_uses_) return;
    saved_uses_ = uses;
  }
  if (const auto written = config::write_key_uses(uses_file_, uses); !written)
    log::warning("keys", "the last use of keys cannot be saved: {}", written.error().message);
}

}  // namespace corral::api
