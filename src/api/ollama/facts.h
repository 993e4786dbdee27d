// The fields of a model in Ollama's lists, for local models and those of other nodes. Plain values.
#pragma once

#include <cstdint>
#include <string>

#include "api/supply/context.h"
#include "json/writer.h"
#include "mesh/catalog/catalog.h"

namespace corral::api::ollama {

struct Facts {
  std::string name = {};
  WallTime modified = {};
  std::uint64_t bytes = 0;
  std::string digest =
      {};  // 64 hexadecimal digits: of the file's bytes where that is known, else of what it is known by
  bool of_bytes = false;
  ModelType type = ModelType::llm;
  std::string architecture = {}, quantisation = {};
  std::uint64_t parameters = 0;       // 0: not known
  std::uint64_t trained_context = 0;  // tokens; 0: unknown
  bool tools = false, thinking = false, vision = false, audio = false;
  bool infill = false;  // only for a local model
};

// `hashes` nullptr: none are known.
Facts facts_of(const models::ModelInfo& model, const models::ContentHashes* hashes);
Facts facts_of(const mesh::MeshModel& model);

// Whether Ollama's API has a call for this type of model.
bool can_be_asked(const Facts& facts);

// "8.0B", "596.05M"
std::string parameter_size(std::uint64_t parameters);
// "name", "model", and in Ollama's format "size", "digest" and "details".
void write_facts(json::Writer& out, const Facts& facts, std::uint64_t size);
void write_details(json::Writer& out, const Facts& facts);
// As an array: "completion", "embedding", "insert", "tools", "thinking", "vision", "audio".
void write_capabilities(json::Writer& out, const Facts& facts);

}  // namespace corral::api::ollama
