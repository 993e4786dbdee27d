// Decides from a GGUF header what the file is: a model (and of which type), or something that belongs to a model. Reads
// the header once; the result is a plain value that the registry keeps between scans. Blocking file access.
//
// A file is, first match:
//   adapter     general.type "adapter"
//   projector   general.type "mmproj", or architecture "clip"
//   draft       an architecture that only drafts for another model (eagle3, ...)
//   other       general.type "imatrix", or an architecture that llama.cpp doesn't run (image models, vocoders)
//   vocabulary  no tensors
//   model       else; and of these
//     reranking   pooling "rank", a classifier's output (cls.output.*), or other cls.* tensors without a named pooling
//     embedding   pooling mean, cls or last, or an encoder's architecture (bert and kin)
//     llm         else
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/model_type.h"
#include "models/gguf/gguf.h"
#include "models/model_info.h"

namespace corral::models {

enum class FileKind : std::uint8_t { model, projector, adapter, draft, vocabulary, other };

struct GgufFacts {
  FileKind kind = FileKind::model;
  std::string what;  // the kind in words for messages: "a LoRA adapter", "a projector (mmproj)"
  ModelType type = ModelType::llm;
  std::string recipe = "llamacpp";  // which back end serves it
  ModelTraits traits;
  std::uint64_t shard = 0;   // split.no, from 0
  std::uint64_t shards = 1;  // split.count
};

// errc::malformed as well when a value that is needed has the wrong type or the architecture isn't a plain word.
Result<GgufFacts> read_facts(GgufReader& reader);
Result<GgufFacts> read_facts(const std::filesystem::path& path);

}  // namespace corral::models
