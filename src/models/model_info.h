// Facts of a model. Plain values, immutable once in a Catalog; safe to share between threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/model_type.h"
#include "base/named.h"
#include "models/hash/file_stamp.h"

namespace corral::models {

// How token states become one vector, with llama.cpp's numbers.
enum class Pooling : std::int8_t { unspecified = -1, none = 0, mean = 1, cls = 2, last = 3, rank = 4 };

// Bytes of weights, all shards.
struct WeightBytes {
  std::uint64_t layers = 0;  // "blk.N.…", of all layers
  std::uint64_t ends = 0;    // the rest: embeddings, output
  friend bool operator==(const WeightBytes&, const WeightBytes&) = default;
};

// Facts from a model's file.
struct ModelTraits {
  std::string architecture;                 // "llama", "qwen3", "bert"
  std::string title;                        // general.name; may be empty
  std::string quantisation;                 // "Q4_K_M"; empty if neither file type nor tensors show it
  std::optional<std::uint64_t> parameters;  // elements of all tensors, all shards
  std::uint64_t context_length = 0;         // trained for, tokens; 0 = not said
  std::uint64_t embedding_length = 0;       // width of an output vector; 0 = not said
  std::uint64_t layers = 0;                 // 0 = not said
  std::uint64_t vocabulary = 0;             // tokens; 0 = not said
  std::uint64_t cache_values = 0;           // most numbers that a token has in the KV cache, all layers; 0 = none
  std::optional<WeightBytes> weights;       // nothing when types of tensors aren't in our table
  Pooling pooling = Pooling::unspecified;
  bool chat_template = false;
  bool tools = false;     // the chat template speaks of tools
  bool thinking = false;  // the chat template has a thinking part
  bool infill = false;    // the vocabulary has tokens that stand around a gap
  bool vision = false;    // understands images (with its projector)
  bool audio = false;     // understands sound (with its projector)
};

// Facts of a model from the configuration: those that its program doesn't show, and what lists show.
struct Declared {
  std::uint64_t context = 0;  // tokens; 0: not said
  std::optional<bool> tools = {}, vision = {};
  std::string title = {}, description = {};  // for people
  std::string metadata = {};                 // a JSON object; empty: none
  bool unlisted = false;                     // requests find it, lists don't show it
  // Of the model of `model_file`: its names, and its tags; for lists.
  std::vector<std::string> names = {}, tags = {};

  friend bool operator==(const Declared&, const Declared&) = default;
};

// A model on this machine's disk, unless it is of a derived type (fleet::RemoteModel).
struct ModelInfo {
  ModelInfo() = default;
  ModelInfo(const ModelInfo&) = default;
  ModelInfo(ModelInfo&&) = default;
  ModelInfo& operator=(const ModelInfo&) = default;
  ModelInfo& operator=(ModelInfo&&) = default;
  virtual ~ModelInfo() = default;

  ModelName name;
  std::vector<ModelName> aliases;            // other names that find it, sorted
  std::vector<std::filesystem::path> paths;  // all shards in order; the first is the one to load
  std::filesystem::path mmproj;              // projector for images and sound; empty: none
  std::string checkpoint;                    // "org/repo:QUANT" from the hub, else the path of the first file
  std::string recipe = "llamacpp";           // which back end serves it
  std::vector<std::string> labels;           // "chat", "embeddings", "reranking"; "vision", "tool-calling", "reasoning"
  ModelType type = ModelType::llm;
  Bytes size;                     // all files, projector included
  std::vector<FileStamp> stamps;  // of `paths`, and of the projector behind them
  WallTime created;               // modification time of the first file
  ModelTraits traits;
  // For models of Ollama's registry: default parameters of a load.
  std::string parameters = {};         // a JSON object, as the registry has it; empty: none
  std::filesystem::path adapter = {};  // empty: none
  Declared declared = {};
  // Listed without configuration, because its program is installed (names/user_models.h).
  bool installed = false;
};

// Whether it takes pictures: with its projector, or as its configuration declares.
inline bool takes_pictures(const ModelInfo& model) {
  return model.declared.vision.value_or(model.traits.vision && !model.mmproj.empty());
}

}  // namespace corral::models
