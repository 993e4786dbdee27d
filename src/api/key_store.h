// The keys of a running server: what the file says and the settings' own key, as one table that is replaced as a whole.
// When keys were last used is kept in memory and written now and then.
//
// On any thread; the mutex that guards the table is never held while a disk is asked.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "api/key_table.h"

namespace corral::api {

class KeyStore {
 public:
  // Errors: those of config::read_key_file(). A server whose keys can't be read must not start as if there were none.
  static Result<std::unique_ptr<KeyStore>> open(std::filesystem::path file, std::filesystem::path uses_file,
                                                std::string api_key);

  std::shared_ptr<const KeyTable> table() const;
  // Another key of the settings.
  void set_api_key(std::string api_key);
  // Somebody has written the file. What can't be read leaves the keys as they are, and the log says so; a file that is
  // gone does, too: only a server that is started without one asks nobody.
  void reread();

  // The file, changed. These block for a few system calls. Errors: those of config/key_file.h.
  Result<config::NewKey> create(std::string name, config::Scopes scopes, config::KeyTerms terms, WallTime now);
  Result<config::RevokedKey> revoke(std::string_view which);
  Result<config::KeyList> list() const;

  // Writes when keys were last used, if any was since the last time. Blocks for a few system calls.
  void save_uses();

  // Called with every new table, in order, on the thread that made it; it may not change them. Set it before anybody
  // else may call.
  void on_change(std::function<void(std::shared_ptr<const KeyTable>)> changed) { changed_ = std::move(changed); }

 private:
  KeyStore(std::filesystem::path file, std::filesystem::path uses_file, std::string api_key,
           std::optional<config::KeyList> keys);
  void replace(std::optional<std::string> api_key, std::optional<config::KeyList> keys);

  const std::filesystem::path file_;
  const std::filesystem::path uses_file_;
  std::function<void(std::shared_ptr<const KeyTable>)> changed_;

  std::mutex
      replacing_;  // held from reading the file to the call-back: what was read later must not be replaced by older
  mutable std::mutex mutex_;
  std::string api_key_;
  std::optional<config::KeyList> keys_;
  std::shared_ptr<const KeyTable> table_;
  config::KeyUses saved_uses_;
};

}  // namespace corral::api
