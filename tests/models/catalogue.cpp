#include "catalogue.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <llama.h>
#include <unistd.h>

#include "decoder.h"
#include "encoder.h"
#include "manifest.h"
#include "projector.h"
#include "recurrent.h"
#include "reranker.h"
#include "scripted.h"
#include "scripted_whisper.h"
#include "sliding.h"
#include "special.h"
#include "vocabulary.h"

namespace corral::test_models {
namespace {

struct Sources {
  Vocabulary qwen2;
  Vocabulary bpe;        // the cut of qwen2
  Vocabulary wordpiece;  // the cut of BERT's
  std::uint64_t seed;
};

// How one model, in one or several files, is made. The name is the file's and also seeds the weights.
struct Recipe {
  std::string name;
  std::string type;  // as in Entry
  std::function<Model(const Sources&)> make;
  std::string text{};
  std::string loop{};
  std::uint16_t shards = 1;
  // Instead of `make`, where the file is no GGUF, with what its name ends in.
  std::function<void(const std::filesystem::path&, const Sources&)> write{};
  std::string extension = ".gguf";
};

Recipe decoder(const char* name, const char* title, const DecoderShape& shape) {
  return {name, "llm", [=](const Sources& from) { return make_decoder(name, title, shape, from.bpe, from.seed); }};
}

Recipe encoder(const char* name, const char* title, const char* type, const EncoderShape& shape) {
  return {name, type, [=](const Sources& from) { return make_encoder(name, title, shape, from.wordpiece, from.seed); }};
}

Recipe scripted(const char* name, const char* title, const Script& script) {
  return {.name = name,
          .type = "llm",
          .make = [=](const Sources& from) { return make_scripted(name, title, script, from.qwen2, from.seed); },
          .text = script.text,
          .loop = script.loop};
}

Recipe transcribed(const char* name, const SpokenScript& script) {
  return {
      .name = name,
      .type = "transcription",
      .make = {},
      .text = text_of(script),
      .write = [=](const auto& path, const Sources& from) { write_scripted_whisper(path, name, script, from.seed); },
      .extension = ".bin"};
}

Recipe qwen(const char* name, const QwenShape& shape, const char* title, ggml_type matrices) {
  return {name, "llm", [=](const Sources& from) { return make_qwen(shape, title, matrices, from.qwen2, from.seed); }};
}

std::vector<Recipe> small_models() {
  const DecoderShape llama{.matrices = GGML_TYPE_F32};
  std::vector<Recipe> all{
      decoder("tiny-llama", "Tiny Llama", llama),
      decoder("tiny-qwen3", "Tiny Qwen3", {.architecture = "qwen3", .matrices = GGML_TYPE_F32}),
      decoder("tiny-moe", "Tiny MoE", {.architecture = "qwen3moe", .ffn = 32, .experts = 4, .experts_used = 2}),
      encoder("tiny-embed", "Tiny Embed", "embedding", {.pooling = Pooling::kMean}),
      {.name = "tiny-rerank",
       .type = "reranking",
       .make =
           [](const Sources& from) {
             return make_reranker("tiny-rerank", "Tiny Rerank", {}, from.wordpiece, from.seed);
           }},
      scripted(
          "scripted-hello", "Scripted Hello",
          {.text = "Hello! I am a scripted model, and every word of this answer was known before you asked for it."}),
      scripted("scripted-unicode", "Scripted Unicode",
               {.text = "Grüße! 你好，世界 καλημέρα 🐎🌾🤠 — fin.", .split_characters = true}),
      scripted("scripted-tool-call", "Scripted Tool Call",
               {.text = "<tool_call>\n\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>"}),
      scripted("scripted-endless", "Scripted Endless",
               {.text = "Counting:", .loop = " one two three four five six seven eight nine ten eleven twelve"}),
      {.name = "tiny-mamba",
       .type = "llm",
       .make = [](const Sources& from) { return make_mamba("tiny-mamba", "Tiny Mamba", from.bpe, from.seed); }},
      {.name = "tiny-jamba",
       .type = "llm",
       .make = [](const Sources& from) { return make_jamba("tiny-jamba", "Tiny Jamba", from.bpe, from.seed); }},
      {.name = "tiny-gemma3",
       .type = "llm",
       .make =
           [=](const Sources& from) { return make_gemma3("tiny-gemma3", "Tiny Gemma 3", llama, from.bpe, from.seed); }},
      {.name = "tiny-gpt-oss",
       .type = "llm",
       .make =
           [](const Sources& from) {
             return make_gpt_oss("tiny-gpt-oss", "Tiny GPT-OSS",
                                 {.matrices = GGML_TYPE_F32, .ffn = 32, .experts = 4, .experts_used = 2}, from.bpe,
                                 from.seed);
           }},
      {.name = "tiny-llama-lora",
       .type = "lora",
       .make = [=](const Sources& from) { return make_lora("tiny-llama-lora", "Tiny Llama LoRA", llama, from.seed); }},
  };
  // The same weights as tiny-llama's.
  all.push_back({.name = "tiny-llama-q8_0", .type = "llm", .make = [](const Sources& from) {
                   return make_decoder("tiny-llama", "Tiny Llama Q8_0", {.matrices = GGML_TYPE_Q8_0}, from.bpe,
                                       from.seed);
                 }});
  all.push_back(decoder("tiny-split", "Tiny Split", {}));
  all.back().shards = 2;
  all.push_back(transcribed("scripted-whisper", {.words = {" The", " horses", " are", " in", " the", " corral."}}));
  all.push_back({.name = "tiny-gap", .type = "llm", .make = [=](const Sources& from) {
                   return make_decoder("tiny-gap", "Tiny Gap", llama, with_gap_tokens(from.bpe), from.seed);
                 }});
  all.push_back(decoder("tiny-qwen2vl", "Tiny Qwen2-VL", {.architecture = "qwen2vl", .matrices = GGML_TYPE_F32}));
  return all;
}

std::vector<Recipe> real_sized_models() {
  return {qwen("bench-0.5b-q8_0", qwen_half_billion(), "Bench 0.5B Q8_0", GGML_TYPE_Q8_0),
          qwen("bench-0.5b-q4_0", qwen_half_billion(), "Bench 0.5B Q4_0", GGML_TYPE_Q4_0)};
}

// The projector of a vision model of that size, as CLIP's of LLaVA but with 86 million weights: 576 embeddings of any
// picture.
std::vector<Recipe> real_sized_projectors() {
  const ProjectorShape shape{.projected = qwen_half_billion().width,
                             .width = 768,
                             .heads = 12,
                             .ffn = 3072,
                             .layers = 12,
                             .matrices = GGML_TYPE_F16,
                             .picture = 336};
  return {{.name = "mmproj-bench-0.5b", .type = "projector", .make = [=](const Sources& from) {
             return make_llava_projector("mmproj-bench-0.5b", "Bench 0.5B Projector", shape, from.seed);
           }}};
}

// Enough work for a GPU.
std::vector<Recipe> large_models() {
  return {qwen("bench-7b-q8_0", qwen_seven_billion(), "Bench 7B Q8_0", GGML_TYPE_Q8_0)};
}

// Nearly all of their memory is layers, so that half of one is half of its memory.
std::vector<Recipe> weighty_models() {
  const DecoderShape whole{.matrices = GGML_TYPE_F32, .layers = 12, .width = 1024, .ffn = 2048, .context = 2048};
  auto half = whole;
  half.layers /= 2;
  return {decoder("weighty-one", "Weighty One", whole), decoder("weighty-two", "Weighty Two", whole),
          decoder("weighty-half", "Weighty Half", half)};
}

std::vector<Recipe> quantised_models() {
  return {decoder("quantised-q8_0", "Quantised Q8_0", {.matrices = GGML_TYPE_Q8_0, .layers = 3}),
          decoder("quantised-q4_0", "Quantised Q4_0", {.matrices = GGML_TYPE_Q4_0, .layers = 3})};
}

// tiny-llama's weights, and its vocabulary behind another pre-tokenizer.
std::vector<Recipe> pretokenizer_models() {
  std::vector<Recipe> all;
  for (const std::string pre :
       {"gpt-4o", "deepseek-v3", "deepseek-llm", "tekken", "exaone-moe", "falcon", "superbpe"}) {
    all.push_back({.name = "tiny-" + pre, .type = "llm", .make = [pre](const Sources& from) {
                     auto vocabulary = from.bpe;
                     vocabulary.pre = pre;
                     return make_decoder("tiny-llama", "Tiny " + pre, {.matrices = GGML_TYPE_F32}, vocabulary,
                                         from.seed);
                   }});
  }
  auto embedding = all.front();
  embedding.name += "-embed";
  embedding.type = "embedding";
  embedding.make = [make = embedding.make](const Sources& from) {
    auto made = make(from);
    made.metadata.set("llama.pooling_type", std::uint32_t{LLAMA_POOLING_TYPE_MEAN});
    return made;
  };
  all.push_back(std::move(embedding));
  return all;
}

// tiny-llama, tiny-gemma3 and tiny-qwen2vl under other names, and a projector for each.
std::vector<Recipe> vision_models() {
  const DecoderShape llama{.matrices = GGML_TYPE_F32};
  const DecoderShape qwen2vl{.architecture = "qwen2vl", .matrices = GGML_TYPE_F32};
  const auto projector = [](const char* name, const char* title, auto make) -> Recipe {
    return {name, "projector", [=](const Sources& from) { return make(name, title, {}, from.seed); }};
  };
  return {
      {.name = "tiny-vision",
       .type = "llm",
       .make =
           [=](const Sources& from) { return make_decoder("tiny-llama", "Tiny Vision", llama, from.bpe, from.seed); }},
      projector("mmproj-tiny-vision", "Tiny Vision Projector", make_llava_projector),
      {.name = "tiny-siglip",
       .type = "llm",
       .make =
           [=](const Sources& from) { return make_gemma3("tiny-gemma3", "Tiny SigLIP", llama, from.bpe, from.seed); }},
      projector("mmproj-tiny-siglip", "Tiny SigLIP Projector", make_gemma3_projector),
      {.name = "tiny-mrope",
       .type = "llm",
       .make =
           [=](const Sources& from) {
             return make_decoder("tiny-qwen2vl", "Tiny M-RoPE", qwen2vl, from.bpe, from.seed);
           }},
      projector("mmproj-tiny-mrope", "Tiny M-RoPE Projector", make_qwen2vl_projector)};
}

std::vector<Recipe> recipes(Set set) {
  if (set == Set::real) return real_sized_models();
  if (set == Set::real_projectors) return real_sized_projectors();
  if (set == Set::large) return large_models();
  if (set == Set::pretokenizers) return pretokenizer_models();
  if (set == Set::quantised) return quantised_models();
  if (set == Set::vision) return vision_models();
  return set == Set::weighty ? weighty_models() : small_models();
}

// Writes the recipe's files into `folder` and adds them to `entries`.
void cook(const Recipe& recipe, const Sources& sources, const std::filesystem::path& folder,
          std::vector<Entry>& entries) {
  if (recipe.write) {
    Entry entry{.file = recipe.name + recipe.extension, .type = recipe.type, .text = recipe.text};
    recipe.write(folder / entry.file, sources);
    measure(folder, entry);
    entries.push_back(std::move(entry));
    return;
  }
  std::vector<Model> models;
  if (recipe.shards > 1) {
    models = split(recipe.make(sources), recipe.shards);
  } else {
    models.push_back(recipe.make(sources));
  }
  for (std::size_t i = 0; i < models.size(); ++i) {
    Entry entry{.type = i == 0 ? recipe.type : "shard", .text = recipe.text, .loop = recipe.loop};
    entry.file = models.size() > 1 ? fmt::format("{}-{:05}-of-{:05}.gguf", recipe.name, i + 1, models.size())
                                   : fmt::format("{}.gguf", recipe.name);
    write_gguf(folder / entry.file, models[i].metadata, models[i].tensors);
    measure(folder, entry);
    entries.push_back(std::move(entry));
  }
}

}  // namespace

void make_models(const Options& options) {
  const Vocabulary qwen2 = read_vocabulary(options.vocabularies / "ggml-vocab-qwen2.gguf");
  const Sources sources{.qwen2 = qwen2,
                        .bpe = cut_bpe(qwen2),
                        .wordpiece = cut_wordpiece(read_vocabulary(options.vocabularies / "ggml-vocab-bert-bge.gguf")),
                        .seed = options.seed};

  std::filesystem::create_directories(options.out);
  const std::filesystem::path work = options.out / fmt::format(".making-{}", ::getpid());
  std::filesystem::create_directory(work);
  std::vector<Entry> entries;
  try {
    for (const Recipe& recipe : recipes(options.set)) {
      options.on_model(recipe.name);
      cook(recipe, sources, work, entries);
    }
    write_manifest(work / kManifestFile, options.seed, entries);
    for (const Entry& entry : entries) std::filesystem::rename(work / entry.file, options.out / entry.file);
    std::filesystem::rename(work / kManifestFile, options.out / kManifestFile);
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove_all(work, ignored);
    throw;
  }
  std::filesystem::remove(work);
}

}  // namespace corral::test_models
