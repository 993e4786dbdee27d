// Models with short names: a table that is shipped with the program, and completed or replaced by a user's file. Their
// size is estimated here from the number of parameters; the hub knows the exact size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/model_type.h"

namespace corral::config {

struct KnownModel {
  std::string name;
  ModelType type = ModelType::llm;
  std::vector<std::string> labels = {};  // "chat", "coding", ...
  std::string repository;                // "org/repo"
  std::string quantisation = {};         // of its files; or
  std::string file = {};                 // a file by its name
  double billions = 0;                   // of parameters
  std::string licence = {};
  std::string seen = {};  // source of the claim that the repository exists

  // The source for a pull: "org/repo:Q4_K_M".
  std::string source() const { return repository + ":" + (file.empty() ? quantisation : file); }
};

struct KnownModels {
  std::vector<KnownModel> models = {};
  std::string problem = {};  // why the user's file is ignored; empty: no problem

  const KnownModel* find(std::string_view name) const;  // without regard to case
};

// The text of a table. `where`: its name in messages. Errors: malformed_file, invalid_value and unknown_key, which name
// the model and the key.
struct KnownTable {
  std::vector<KnownModel> models = {};
  bool only_these = false;
};
Result<KnownTable> parse_known_models(std::string_view text, std::string_view where);

// The shipped models and those of the user's file, which replaces models of the same name. The file may be missing.
// Blocking.
KnownModels read_known_models(const std::filesystem::path& user_file);

// Bytes on disk, from parameters and bits per parameter.
std::uint64_t estimated_size(const KnownModel& model);
// Bytes in memory for files of this size, as in GET pull/variants.
std::uint64_t estimated_memory(std::uint64_t file_bytes);

// First models for a machine with this memory: the largest model for chats that takes at most three quarters of it, a
// faster one of at most half its size, and the largest one for code. Fewer if fewer fit, none twice.
std::vector<const KnownModel*> suggested_models(const KnownModels& known, std::uint64_t memory);

}  // namespace corral::config
