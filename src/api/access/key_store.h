// The keys of a running server: the key file and the settings' own key, as one table that is replaced as a whole. Times
// of use are kept in memory and written from time to time.
//
// On any thread; the mutex of the table is never held during disk access.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "api/access/key_table.h"
#include "base/mutex.h"

namespace corral::api {

class KeyStore {
 public:
  // Errors: those of config::read_key_file(). A server with an unreadable key file must not start without keys.
  static Result<std::unique_ptr<KeyStore>> open(std::filesystem::path file, std::filesystem::path uses_file,
                                                std::string api_key);

  std::shared_ptr<const KeyTable> table() const;
  // Sets the key of the settings.
  void set_api_key(std::string api_key);
  // Reads the changed file. If the file is unreadable or missing, the keys stay and a warning is logged: only a server
  // that starts without a key file needs no key.
  void reread();

  // Change the file, and block for a few system calls. Errors: those of config/files/key_file.h.
  Result<config::NewKey> create(std::string name, config::Scopes scopes, config::KeyTerms terms, WallTime now);
  Result<config::RevokedKey> revoke(std::string_view which);
  Result<config::KeyList> list() const;

  // Writes the times of use, if any changed. Blocks for a few system calls.
  void save_uses();

  // Called with every new table, in order, on the thread that made it. The callback may not change keys. Set it before
  // other threads use the store.
  void on_change(std::function<void(std::shared_ptr<const KeyTable>)> changed) { changed_ = std::move(changed); }

 private:
  KeyStore(std::filesystem::path file, std::filesystem::path uses_file, std::string api_key,
           std::optional<config::KeyList> keys);
  void replace(std::optional<std::string> api_key, std::optional<config::KeyList> keys) REQUIRES(replacing_);

  const std::filesystem::path file_;
  const std::filesystem::path uses_file_;
  std::function<void(std::shared_ptr<const KeyTable>)> changed_;

  Mutex replacing_;  // held from reading the file to the callback, so that no older table replaces a newer one
  mutable Mutex mutex_;
  std::string api_key_ GUARDED_BY(mutex_);
  std::optional<config::KeyList> keys_ GUARDED_BY(mutex_);
  std::shared_ptr<const KeyTable> table_ GUARDED_BY(mutex_);
  config::KeyUses saved_uses_ GUARDED_BY(mutex_);
};

}  // namespace corral::api
