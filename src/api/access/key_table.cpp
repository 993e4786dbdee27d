#include "api/access/key_table.h"

#include "api/access/rights.h"
#include "base/secret.h"

namespace corral::api {

KeyTable::KeyTable(std::string api_key, const std::optional<config::KeyList>& keys, const config::KeyUses& uses)
    : asks_(!api_key.empty() || keys), api_key_(std::move(api_key)) {
  if (!keys) return;
  salt_ = keys->salt;
  for (const auto& key : keys->keys) {
    Entry& entry = entries_[key.id];
    entry.digest = key.digest;
    entry.terms = key.terms;
    if (key.scopes.inference) entry.rights |= kInference;
    if (key.scopes.admin) entry.rights |= kAdmin | kOwner;
    if (const auto used = uses.find(key.id); used != uses.end()) entry.used = used->second;
  }
}

std::optional<KeyTable::Found> KeyTable::find(std::string_view sent, WallTime now) const {
  if (!api_key_.empty() && same_secret(sent, api_key_)) return Found{kSettingsKey, kInference | kAdmin | kOwner};
  const auto id = config::id_in(sent);
  if (!id) return std::nullopt;
  const auto entry = entries_.find(*id);
  // Hashed in any case, so that the time doesn't reveal whether the identifier exists.
  const auto digest = config::digest_of(salt_, sent);
  if (entry == entries_.end() || !same_secret(digest, entry->second.digest)) return std::nullopt;
  entry->second.used.store(epoch_millis(now), std::memory_order_relaxed);
  return Found{entry->first, entry->second.rights};
}

bool KeyTable::admits(std::string_view id) const {
  return !asks_ || entries_.contains(id) || (id == kSettingsKey && !api_key_.empty());
}

config::KeyTerms KeyTable::terms(std::string_view id) const {
  const auto entry = entries_.find(id);
  return entry == entries_.end() ? config::KeyTerms() : entry->second.terms;
}

config::KeyUses KeyTable::uses() const {
  config::KeyUses uses;
  for (const auto& [id, entry] : entries_) {
    if (const auto used = entry.used.load(std::memory_order_relaxed); used > 0) uses[id] = used;
  }
  return uses;
}

}  // namespace corral::api
