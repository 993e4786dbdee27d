// Models that the user has named: user_models.json, an object of one entry per model.
//
//   {"my-chat": {"checkpoint": "/srv/models/chat.gguf"},
//    "npu-chat": {"checkpoint": "llama3.2:1b", "recipe": "flm", "labels": ["tool-calling"]}}
//
// A name may have the prefix "user.", as other servers write it; it is no part of it.
//
//   checkpoint   or "checkpoints": {"main": ...}: a GGUF file, the name of a found model or of its file
//                ("org/repo:FILE.gguf"), or, for other recipes, a text that their program understands
//   recipe       backend that serves it (base/recipe.h); llamacpp if missing
//   aliases      other names of it
//   fetched      true: a pull made the entry, and its files are removed with the name
//   labels       a label that stands for a type ("embeddings", "reranking", "image", ...) decides the type
//
// The user's names take precedence: a found model keeps its file name as an alias when the user renames it, and another
// model with the same name isn't listed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/recipe_table.h"
#include "models/catalog.h"

namespace corral::models {

struct UserModel {
  std::string name;
  std::string checkpoint;
  std::string recipe;
  std::vector<std::string> labels;
  std::vector<std::string> aliases = {};
  // The entry was made by a pull: the files go with the name.
  bool fetched = false;
  // Written down in the configuration (backends/external/known_backends.h): it needs no checkpoint.
  bool configured = false;
  // Its program reads a file: the checkpoint may be the name of a found model.
  bool reads_file = false;
  Declared declared = {};
  // Further files that its program reads, such as a VAE: they count for its size.
  std::vector<std::string> parts = {};

  friend bool operator==(const UserModel&, const UserModel&) = default;
};

// A model that needs no configuration, because its program is installed. Weaker than all others: it isn't listed if its
// name has another meaning.
struct InstalledModel {
  UserModel model;
  bool (*is_installed)() = nullptr;  // asked at each scan; reads the disk

  friend bool operator==(const InstalledModel&, const InstalledModel&) = default;
};

struct UserModels {
  std::vector<UserModel> models;
  std::vector<Problem> problems;  // the file, or single entries of it
};

// A missing file has no models; a broken one is a problem, and so is an entry whose recipe isn't in the table. Blocks
// for reading it.
UserModels read_user_models(const std::filesystem::path& file, const RecipeTable& recipes);
// `user` with models of the configuration (backends/external/known_backends.h) in front.
UserModels with_configured(UserModels user, const std::vector<UserModel>& configured, const RecipeTable& recipes);
// Files of the entries that a scan must read.
std::vector<std::filesystem::path> files_of(const UserModels& user);
// `found` with the user's entries worked in. Pure.
Catalog add_user_models(Catalog found, const UserModels& user, const RecipeTable& recipes);
// `found` with those whose program is installed.
Catalog add_installed(Catalog found, const std::vector<InstalledModel>& installed, const RecipeTable& recipes);

}  // namespace corral::models
