#include "api/ollama/facts.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/secret.h"
#include "base/sha256.h"
#include "models/hash/content_hash.h"

namespace corral::api::ollama {
namespace {

// Changes with the file; computed without reading it.
std::string digest_of(const models::ModelInfo& model) {
  auto text = model.name.value();
  for (const auto& stamp : model.stamps) fmt::format_to(std::back_inserter(text), " {} {}", stamp.size, stamp.modified);
  return to_hex(sha256({text, model.checkpoint}));
}

}  // namespace

Facts facts_of(const models::ModelInfo& model, const models::ContentHashes* hashes) {
  Facts facts{.name = model.name.value(), .modified = model.created, .bytes = model.size.value(), .type = model.type};
  const auto files = hashes != nullptr ? hashes->files_of(model) : std::vector<models::FileHash>();
  facts.of_bytes = !files.empty();
  facts.digest = facts.of_bytes ? to_hex(files.front().hash) : digest_of(model);
  facts.architecture = model.traits.architecture;
  facts.quantisation = model.traits.quantisation;
  facts.parameters = model.traits.parameters.value_or(0);
  facts.trained_context = model.traits.context_length;
  facts.infill = model.type == ModelType::llm && model.traits.infill;
  facts.tools = model.traits.tools;
  facts.thinking = model.traits.thinking;
  const auto media =
      fleet::is_remote(model) ? router::media_announced(model) : router::media_of(model, router::Projector::own);
  facts.vision = media.pictures;
  facts.audio = media.sounds;
  return facts;
}

Facts facts_of(const mesh::MeshModel& model) {
  Facts facts{.name = model.name, .bytes = model.bytes, .type = model.type};
  const auto* from_file = model.facts;
  if (from_file == nullptr) {
    facts.digest = to_hex(sha256({model.name, model.source}));
    return facts;
  }
  facts.modified = WallTime(std::chrono::seconds(std::min<std::uint64_t>(from_file->created, 253'402'300'799)));
  facts.of_bytes = from_file->hash.has_value();
  facts.digest = to_hex(from_file->hash ? *from_file->hash : sha256({model.name, std::to_string(model.bytes)}));
  facts.architecture = from_file->architecture;
  facts.quantisation = from_file->quantisation;
  facts.parameters = from_file->parameters;
  facts.trained_context = from_file->context_trained;
  facts.tools = from_file->tools;
  facts.thinking = from_file->thinking;
  facts.vision = from_file->vision;
  facts.audio = router::reads_sound(from_file->labels);
  return facts;
}

bool can_be_asked(const Facts& facts) { return facts.type == ModelType::llm || facts.type == ModelType::embedding; }

std::string parameter_size(std::uint64_t parameters) {
  const auto number = static_cast<double>(parameters);
  if (number >= 1e9) return fmt::format("{:.1f}B", number / 1e9);
  if (number >= 1e6) return fmt::format("{:.2f}M", number / 1e6);
  if (number >= 1e3) return fmt::format("{:.2f}K", number / 1e3);
  return parameters == 0 ? std::string() : std::to_string(parameters);
}

void write_details(json::Writer& out, const Facts& facts) {
  out.key("details").begin_object().field("parent_model", "").field("format", "gguf");
  out.field("family", facts.architecture).key("families").begin_array();
  if (!facts.architecture.empty()) out.value(facts.architecture);
  out.end_array().field("parameter_size", parameter_size(facts.parameters));
  out.field("quantization_level", facts.quantisation).end_object();
}

void write_facts(json::Writer& out, const Facts& facts, std::uint64_t size) {
  out.field("name", facts.name).field("model", facts.name).field("size", size).field("digest", facts.digest);
  write_details(out, facts);
}

void write_capabilities(json::Writer& out, const Facts& facts) {
  out.key("capabilities").begin_array();
  if (facts.type == ModelType::llm) out.value("completion");
  if (facts.type == ModelType::embedding) out.value("embedding");
  if (facts.infill) out.value("insert");
  if (facts.tools) out.value("tools");
  if (facts.thinking) out.value("thinking");
  if (facts.vision) out.value("vision");
  if (facts.audio) out.value("audio");
  out.end_array();
}

}  // namespace corral::api::ollama
