#include "models/gguf/gguf_facts.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "models/errors.h"
#include "models/gguf/gap_tokens.h"
#include "models/gguf/gguf_types.h"
#include "models/text.h"

namespace corral::models {
namespace {

struct ArchitectureRow {
  std::string_view name;
  FileKind kind;
  std::string_view what;
};
// Architectures of files that don't run on their own in llama.cpp. Anything not here is taken for a model: a new
// architecture must not need a new release of this program to be listed.
constexpr std::array kSpecial{
    ArchitectureRow{"clip", FileKind::projector, "a projector (mmproj)"},
    ArchitectureRow{"eagle3", FileKind::draft, "a draft head (EAGLE-3)"},
    ArchitectureRow{"dflash", FileKind::draft, "a draft model (DFlash)"},
    ArchitectureRow{"gemma4-assistant", FileKind::draft, "a draft model (Gemma 4 assistant)"},
    ArchitectureRow{"wavtokenizer-dec", FileKind::other, "a vocoder"},
    ArchitectureRow{"imatrix", FileKind::other, "an importance matrix"},
    ArchitectureRow{"whisper", FileKind::other, "a speech model for another backend"},
    ArchitectureRow{"sd1", FileKind::other, "an image model for another backend"},
    ArchitectureRow{"sd2", FileKind::other, "an image model for another backend"},
    ArchitectureRow{"sd3", FileKind::other, "an image model for another backend"},
    ArchitectureRow{"sdxl", FileKind::other, "an image model for another backend"},
    ArchitectureRow{"flux", FileKind::other, "an image model for another backend"},
    ArchitectureRow{"aura", FileKind::other, "an image model for another backend"},
    ArchitectureRow{"lumina2", FileKind::other, "an image model for another backend"},
    ArchitectureRow{"qwen_image", FileKind::other, "an image model for another backend"},
    ArchitectureRow{"hidream", FileKind::other, "an image model for another backend"},
    ArchitectureRow{"wan", FileKind::other, "a video model for another backend"},
    ArchitectureRow{"ltxv", FileKind::other, "a video model for another backend"},
    ArchitectureRow{"hyvid", FileKind::other, "a video model for another backend"},
};

// Encoders: their output is a vector even when the file names no pooling.
constexpr std::array<std::string_view, 11> kEncoders{
    "bert",         "modern-bert", "nomic-bert",      "nomic-bert-moe", "neo-bert", "jina-bert-v2",
    "jina-bert-v3", "eurobert",    "gemma-embedding", "llama-embed",    "t5encoder"};

constexpr std::array<std::string_view, 1> kToolHints{"tools"};
constexpr std::array<std::string_view, 4> kThinkingHints{"enable_thinking", "<think>", "reasoning_content", "thinking"};

constexpr std::uint64_t kMaxShards = 10'000;

// Sums over the tensor infos.
struct TensorSums {
  std::uint64_t elements = 0;
  bool overflow = false;
  bool classifier = false;         // any cls.*
  bool classifier_output = false;  // cls.output.*
  std::optional<WeightBytes> weights = WeightBytes();
  std::map<std::uint32_t, std::uint64_t> elements_by_type;  // matrices only: norms and biases stay F32 in every file

  void add(const GgufTensor& tensor) {
    overflow |= __builtin_add_overflow(elements, tensor.elements, &elements);
    if (tensor.name == "cls" || tensor.name.starts_with("cls.")) classifier = true;
    if (tensor.name.starts_with("cls.output.")) classifier_output = true;
    add_weights(tensor);
    if (tensor.rank >= 2) elements_by_type[tensor.type] += tensor.elements;
  }

  void add_weights(const GgufTensor& tensor) {
    if (!weights) return;
    auto& sum = tensor.name.starts_with("blk.") ? weights->layers : weights->ends;
    if (!tensor.bytes || __builtin_add_overflow(sum, *tensor.bytes, &sum)) weights.reset();
  }
};

bool contains_any(std::string_view text, std::span<const std::string_view> hints) {
  return std::ranges::any_of(hints, [text](std::string_view hint) { return text.contains(hint); });
}

bool is_plain_word(std::string_view text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, plain);
}

// An integer that may be absent (then 0) but must not be anything else.
Result<std::uint64_t> optional_integer(const GgufMetadata& metadata, std::string_view key) {
  if (!metadata.find(key)) return 0;
  if (const auto number = metadata.integer(key)) return *number;
  return fail(errc::malformed, fmt::format("'{}' is not a whole number", printable(key)));
}

Pooling pooling_of(const GgufMetadata& metadata, std::string_view architecture) {
  const auto number = metadata.integer(fmt::format("{}.pooling_type", architecture));
  if (!number || *number > static_cast<std::uint64_t>(Pooling::rank)) return Pooling::unspecified;
  return static_cast<Pooling>(*number);
}

ModelType type_of(const ModelTraits& traits, const TensorSums& tensors) {
  const bool unnamed = traits.pooling == Pooling::unspecified || traits.pooling == Pooling::none;
  if (traits.pooling == Pooling::rank || tensors.classifier_output || (tensors.classifier && unnamed)) {
    return ModelType::reranking;
  }
  const bool encoder = std::ranges::find(kEncoders, traits.architecture) != kEncoders.end();
  return encoder || !unnamed ? ModelType::embedding : ModelType::llm;
}

// By their texts, or by their numbers, which have two names.
bool has_gap_tokens(const GgufMetadata& metadata, const GgufArray* tokens) {
  constexpr std::array<std::array<std::string_view, 2>, 3> kKeys{{{"fim_pre_token_id", "prefix_token_id"},
                                                                  {"fim_suf_token_id", "suffix_token_id"},
                                                                  {"fim_mid_token_id", "middle_token_id"}}};
  auto marks = tokens ? tokens->gap_marks : std::uint8_t{0};
  for (std::size_t place = 0; place < kKeys.size(); ++place) {
    const auto named = std::ranges::any_of(kKeys[place], [&](std::string_view key) {
      return metadata.integer(fmt::format("tokenizer.ggml.{}", key)).has_value();
    });
    if (named) marks |= static_cast<std::uint8_t>(1u << place);
  }
  return marks == kAllGapMarks;
}

void read_template(const GgufMetadata& metadata, ModelTraits& traits) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  // Beside the main template a file may have named ones: "tokenizer.chat_template.tool_use".
  for (auto it = metadata.pairs().lower_bound(kKey); it != metadata.pairs().end() && it->first.starts_with(kKey);
       ++it) {
    const std::string_view suffix = std::string_view(it->first).substr(kKey.size());
    if (!suffix.empty() && suffix[0] != '.') continue;
    const auto* text = std::get_if<std::string>(&it->second);
    const bool any = text ? !text->empty() : std::holds_alternative<GgufLongText>(it->second);
    traits.chat_template |= any;
    traits.tools |= suffix == ".tool_use" || (text && contains_any(*text, kToolHints));
    traits.thinking |= text && contains_any(*text, kThinkingHints);
  }
}

// Keys and values of each layer. A bound: layers that look back only a little, or that share a smaller state, have
// less.
std::uint64_t cache_values_of(const GgufMetadata& metadata, const ModelTraits& traits) {
  constexpr std::uint64_t kMax = 1 << 20;  // of anything here; more is nonsense
  const auto key = [&](std::string_view name) { return fmt::format("{}.attention.{}", traits.architecture, name); };
  const auto number = [&](std::string_view name) { return std::min(metadata.integer(key(name)).value_or(0), kMax); };
  const std::uint64_t layers = std::min(traits.layers, kMax), heads = number("head_count");
  std::uint64_t kv_heads = layers * heads;  // of all layers
  if (const auto same = metadata.integer(key("head_count_kv"))) {
    kv_heads = layers * std::min(*same, kMax);
  } else if (const auto* each = metadata.array(key("head_count_kv")); each != nullptr && !each->integers.empty()) {
    kv_heads = 0;
    for (const std::int64_t one : each->integers) kv_heads += std::clamp<std::int64_t>(one, 0, kMax);
  }
  const std::uint64_t width = heads == 0 ? 0 : std::min(traits.embedding_length, kMax) / heads;
  const auto length = [&](std::string_view name) { return number(name) > 0 ? number(name) : width; };
  return std::min(kv_heads, kMax) * std::min(length("key_length") + length("value_length"), kMax);
}

std::string quantisation_of(const GgufMetadata& metadata, const TensorSums& tensors) {
  if (const auto file_type = metadata.integer("general.file_type")) {
    if (const auto name = file_type_name(*file_type)) return std::string(*name);
  }
  const auto dominant =
      std::ranges::max_element(tensors.elements_by_type, {}, [](const auto& row) { return row.second; });
  if (dominant == tensors.elements_by_type.end()) return "";
  const TensorType* type = tensor_type(dominant->first);
  return type ? std::string(type->name) : "";
}

Result<> read_split(const GgufMetadata& metadata, GgufFacts& facts) {
  const Result<std::uint64_t> number = optional_integer(metadata, "split.no");
  if (!number) return std::unexpected(number.error());
  const Result<std::uint64_t> count = optional_integer(metadata, "split.count");
  if (!count) return std::unexpected(count.error());
  facts.shard = *number;
  facts.shards = std::max<std::uint64_t>(*count, 1);
  if (facts.shards > kMaxShards || facts.shard >= facts.shards) {
    return fail(errc::malformed, fmt::format("its metadata has shard {} of {}", facts.shard + 1, facts.shards));
  }
  return {};
}

Result<> read_kind(const GgufMetadata& metadata, const GgufReader& reader, GgufFacts& facts) {
  const std::string general = to_lower(metadata.text("general.type").value_or(""));
  if (general == "adapter") {
    facts.kind = FileKind::adapter;
    const auto adapter = metadata.text("adapter.type");
    facts.what = !adapter || equal_ignoring_case(*adapter, "lora") ? "a LoRA adapter" : "an adapter";
  } else if (general == "imatrix") {
    facts.kind = FileKind::other;
    facts.what = "an importance matrix";
  }
  const auto architecture = metadata.text("general.architecture");
  if (architecture && !is_plain_word(*architecture)) {
    return fail(errc::malformed, fmt::format("its architecture is '{}'", printable(*architecture, 64)));
  }
  facts.traits.architecture = architecture.value_or("");
  if (facts.kind != FileKind::model) return {};

  const auto row = std::ranges::find(kSpecial, facts.traits.architecture, &ArchitectureRow::name);
  if (general == "mmproj") {
    facts.kind = FileKind::projector;
    facts.what = "a projector (mmproj)";
  } else if (row != kSpecial.end()) {
    facts.kind = row->kind;
    facts.what = row->what;
  } else if (!architecture && facts.shard == 0) {  // later shards don't repeat the metadata
    return fail(errc::malformed, "it has no architecture (general.architecture)");
  } else if (reader.tensor_count() == 0 && facts.shards == 1) {
    facts.kind = FileKind::vocabulary;
    facts.what = "a vocabulary without weights";
  }
  return {};
}

Result<> read_traits(const GgufMetadata& metadata, const TensorSums& tensors, ModelTraits& traits) {
  const auto own = [&](std::string_view key) {
    return optional_integer(metadata, fmt::format("{}.{}", traits.architecture, key));
  };
  const Result<std::uint64_t> context = own("context_length");
  if (!context) return std::unexpected(context.error());
  const Result<std::uint64_t> width = own("embedding_length");
  if (!width) return std::unexpected(width.error());
  const Result<std::uint64_t> layers = own("block_count");
  if (!layers) return std::unexpected(layers.error());
  const Result<std::uint64_t> width_out = own("embedding_length_out");
  if (!width_out) return std::unexpected(width_out.error());
  if (tensors.overflow) return fail(errc::malformed, "its tensors are too big");

  traits.title = printable(metadata.text("general.name").value_or(""));
  traits.quantisation = quantisation_of(metadata, tensors);
  traits.parameters = tensors.elements;
  traits.context_length = *context;
  traits.embedding_length = *width_out ? *width_out : *width;
  traits.layers = *layers;
  traits.cache_values = cache_values_of(metadata, traits);
  traits.weights = tensors.weights;
  const GgufArray* tokens = metadata.array("tokenizer.ggml.tokens");
  traits.vocabulary = tokens ? tokens->count : own("vocab_size").value_or(0);
  traits.infill = has_gap_tokens(metadata, tokens);
  traits.pooling = pooling_of(metadata, traits.architecture);
  traits.vision = metadata.flag("clip.has_vision_encoder").value_or(false);
  traits.audio = metadata.flag("clip.has_audio_encoder").value_or(false);
  read_template(metadata, traits);
  return {};
}

Result<GgufFacts> facts_of(GgufReader& reader) {
  const GgufMetadata& metadata = reader.metadata();
  GgufFacts facts;
  if (Result<> split = read_split(metadata, facts); !split) return std::unexpected(std::move(split).error());
  if (Result<> kind = read_kind(metadata, reader, facts); !kind) return std::unexpected(std::move(kind).error());
  TensorSums tensors;
  Result<> visited = reader.each_tensor([&tensors](const GgufTensor& tensor) { tensors.add(tensor); });
  if (!visited) return std::unexpected(std::move(visited).error());
  Result<> traits = read_traits(metadata, tensors, facts.traits);
  if (!traits) return std::unexpected(std::move(traits).error());
  facts.type = type_of(facts.traits, tensors);
  return facts;
}

}  // namespace

Result<GgufFacts> read_facts(GgufReader& reader) {
  Result<GgufFacts> facts = facts_of(reader);
  if (!facts) return std::unexpected(reader.labelled(std::move(facts).error()));
  return facts;
}

Result<GgufFacts> read_facts(const std::filesystem::path& path) {
  Result<GgufReader> reader = GgufReader::open(path);
  if (!reader) return std::unexpected(std::move(reader).error());
  return read_facts(*reader);
}

}  // namespace corral::models
