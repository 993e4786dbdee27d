// Models that people may call by a short name before they have them: a table, shipped with the program and completed or
// replaced by a file of the user's. What they take is guessed here by the number of their parameters; the hub knows.
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
  std::string file = {};                 // one by its name
  double billions = 0;                   // of parameters
  std::string licence = {};
  std::string seen = {};  // where it is said that there is such a repository

  // What a pull is asked for: "org/repo:Q4_K_M".
  std::string source() const { return repository + ":" + (file.empty() ? quantisation : file); }
};

struct KnownModels {
  std::vector<KnownModel> models = {};
  std::string problem = {};  // why the user's file doesn't count; empty: nothing is wrong

  const KnownModel* find(std::string_view name) const;  // without regard to case
};

// The text of a table. `where` is what messages call it. Errors: malformed_file, invalid_value and unknown_key, which
// name the model and the key.
struct KnownTable {
  std::vector<KnownModel> models = {};
  bool only_these = false;
};
Result<KnownTable> parse_known_models(std::string_view text, std::string_view where);

// Those that are shipped, with those of the user's file: who has the name of another replaces it. A missing file is
// none. Blocking.
KnownModels read_known_models(const std::filesystem::path& user_file);

// Bytes on disk, by parameters and bits for each.
std::uint64_t estimated_size(const KnownModel& model);
// Bytes in memory for files of this size: what GET pull/variants reckons by their size alone.
std::uint64_t estimated_memory(std::uint64_t file_bytes);

// Where to begin on a machine with so much memory: the largest model for chats that takes at most three quarters of it,
// one of at most half its size, which is quicker, and the largest that was made for code. Fewer where fewer fit, none
// twice.
std::vector<const KnownModel*> suggested_models(const KnownModels& known, std::uint64_t memory);

}  // namespace corral::config
