// models.json: what stands beside the models, for tests and for script/models.
//
//   {"version": 1, "seed": 1, "models": [
//   {"file": "scripted-hello.gguf", "type": "llm", "size": ..., "sha256": "...", "text": "Hello! ..."},
//   ...]}
//
// One model per line and "version", "seed" in the first, so that a shell script can read them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace corral::test_models {

inline constexpr const char* kManifestFile = "models.json";

struct Entry {
  std::string file{};
  std::string type{};  // "llm", "embedding", "reranking", "transcription"; "lora" for an adapter, "shard" for a set's
                       // further files
  std::string text{};  // scripted: the greedy answer
  std::string loop{};  // scripted: what follows it for ever
  std::uint64_t size = 0;
  std::string sha256{};  // lower-case hex
};

// Sets size and sha256 from folder/file.
void measure(const std::filesystem::path& folder, Entry& entry);

void write_manifest(const std::filesystem::path& path, std::uint64_t seed, const std::vector<Entry>& entries);

}  // namespace corral::test_models
