// Changes names of models while the server runs: entries of user_models.json and aliases.json, changed in place. Other
// entries in these files stay. The registry reads the files with its next scan.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/mutex.h"
#include "models/names/aliases.h"
#include "models/names/user_models.h"

namespace corral::models {

// On any thread; each call blocks for reading and writing a small file. Errors: malformed if the file has other
// content; the system's own.
class NameStore {
 public:
  NameStore(std::filesystem::path user_models, std::filesystem::path aliases)
      : user_models_(std::move(user_models)), aliases_(std::move(aliases)) {}

  // Replaces an entry of that name.
  Result<> put(const UserModel& model);
  // Whether there was one.
  Result<bool> remove(std::string_view name);
  UserModels user_models(const RecipeTable& recipes) const { return read_user_models(user_models_, recipes); }

  // `alias.defaults` is a JSON object or empty.
  Result<> put_alias(std::string_view name, const Alias& alias);
  Result<bool> remove_alias(std::string_view alias);
  Aliases aliases() const { return read_aliases(aliases_); }

 private:
  const std::filesystem::path user_models_, aliases_;
  Mutex mutex_;  // held from reading a file to writing it
};

}  // namespace corral::models
