#include "models/gguf/gguf_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/errors.h"
#include "models/gguf/gguf_test_writer.h"

namespace corral::models {
namespace {

Result<GgufFacts> facts_of(const GgufWriter& writer) {
  const auto bytes = writer.bytes();
  Result<GgufReader> reader = GgufReader::from(memory_source(bytes), "test");
  if (!reader) return std::unexpected(reader.error());
  return read_facts(*reader);
}

GgufFacts sound_facts_of(const GgufWriter& writer) {
  const Result<GgufFacts> facts = facts_of(writer);
  EXPECT_TRUE(facts) << facts.error().message;
  return facts.value_or(GgufFacts{});
}

TEST(GgufFacts, OfAChatModel) {
  const GgufFacts facts = sound_facts_of(GgufWriter::model("qwen3")
                                             .text("general.name", "Qwen3\n1B")
                                             .text("tokenizer.chat_template", "{% if tools %}<think>{% endif %}"));
  EXPECT_EQ(facts.kind, FileKind::model);
  EXPECT_EQ(facts.type, ModelType::llm);
  EXPECT_EQ(facts.traits.architecture, "qwen3");
  EXPECT_EQ(facts.traits.title, "Qwen3?1B") << "fit for a log line";
  EXPECT_EQ(facts.traits.quantisation, "Q8_0");
  EXPECT_EQ(facts.traits.parameters, 128U);
  EXPECT_EQ(facts.traits.context_length, 2048U);
  EXPECT_EQ(facts.traits.embedding_length, 32U);
  EXPECT_EQ(facts.traits.vocabulary, 3U);
  EXPECT_TRUE(facts.traits.chat_template && facts.traits.tools && facts.traits.thinking);
  EXPECT_EQ(facts.shards, 1U);
}

TEST(GgufFacts, TokensAroundAGapAreFound) {
  const auto infill = [](const GgufWriter& writer) { return sound_facts_of(writer).traits.infill; };
  const auto bare = [] {
    GgufWriter writer;
    writer.text("general.architecture", "qwen2").tensor("token_embd.weight", {32, 4});
    return writer;
  };
  EXPECT_TRUE(
      infill(bare().texts("tokenizer.ggml.tokens", {"a", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"})));
  EXPECT_TRUE(infill(bare().texts("tokenizer.ggml.tokens",
                                  {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", std::string(1000, '<')})));
  EXPECT_TRUE(infill(bare()
                         .u32("tokenizer.ggml.prefix_token_id", 1)
                         .u32("tokenizer.ggml.suffix_token_id", 2)
                         .u32("tokenizer.ggml.fim_mid_token_id", 3)));
  EXPECT_FALSE(infill(bare().texts("tokenizer.ggml.tokens", {"<|fim_prefix|>", "<|fim_suffix|>"})));
  EXPECT_FALSE(infill(bare().texts("tokenizer.ggml.merges", {"<PRE>", "<SUF>", "<MID>"})));
}

TEST(GgufFacts, TypesFollowPoolingHeadAndArchitecture) {
  struct Case {
    const char* what;
    const char* architecture;
    int pooling;  // -1: no key
    const char* tensor;
    ModelType type;
  };
  const Case cases[] = {
      {"chat", "llama", -1, nullptr, ModelType::llm},
      {"chat that names no pooling", "llama", 0, nullptr, ModelType::llm},
      {"encoder", "bert", -1, nullptr, ModelType::embedding},
      {"encoder with token vectors", "bert", 0, nullptr, ModelType::embedding},
      {"encoder with mean", "nomic-bert", 1, nullptr, ModelType::embedding},
      {"embedding of a decoder", "qwen3", 3, nullptr, ModelType::embedding},
      {"gemma-embedding", "gemma-embedding", -1, nullptr, ModelType::embedding},
      {"rank pooling", "bert", 4, nullptr, ModelType::reranking},
      {"rank pooling of a decoder", "qwen3", 4, "cls.output.weight", ModelType::reranking},
      {"classifier output, no key", "bert", -1, "cls.output.weight", ModelType::reranking},
      {"classifier, no key", "jina-bert-v2", -1, "cls.weight", ModelType::reranking},
      {"dense layer of an embedding model", "neo-bert", 2, "cls.weight", ModelType::embedding},
      {"a name that only looks alike", "llama", -1, "clsx.weight", ModelType::llm},
  };
  for (const Case& test : cases) {
    GgufWriter writer = GgufWriter::model(test.architecture);
    if (test.pooling >= 0) {
      writer.u32(std::string(test.architecture) + ".pooling_type", static_cast<std::uint32_t>(test.pooling));
    }
    if (test.tensor) writer.tensor(test.tensor, {32, 1});
    EXPECT_EQ(sound_facts_of(writer).type, test.type) << test.what;
  }
}

TEST(GgufFacts, FilesThatAreNoModels) {
  EXPECT_EQ(sound_facts_of(GgufWriter::model("clip").flag("clip.has_vision_encoder", true)).kind, FileKind::projector);
  EXPECT_TRUE(sound_facts_of(GgufWriter::model("clip").flag("clip.has_vision_encoder", true)).traits.vision);
  EXPECT_EQ(sound_facts_of(GgufWriter::model("x").text("general.type", "mmproj")).kind, FileKind::projector);
  const GgufFacts adapter =
      sound_facts_of(GgufWriter::model("llama").text("general.type", "adapter").text("adapter.type", "lora"));
  EXPECT_EQ(adapter.kind, FileKind::adapter);
  EXPECT_EQ(adapter.what, "a LoRA adapter");
  EXPECT_EQ(sound_facts_of(GgufWriter::model("eagle3")).kind, FileKind::draft);
  EXPECT_EQ(sound_facts_of(GgufWriter::model("flux")).kind, FileKind::other);
  EXPECT_EQ(sound_facts_of(GgufWriter().text("general.type", "imatrix").tensor("t", {4})).kind, FileKind::other);
  EXPECT_EQ(sound_facts_of(GgufWriter().text("general.architecture", "llama")).kind, FileKind::vocabulary);
}

TEST(GgufFacts, Shards) {
  const GgufFacts first = sound_facts_of(GgufWriter::model("llama").u16("split.no", 0).u16("split.count", 3));
  EXPECT_EQ(first.shards, 3U);
  const GgufFacts later = sound_facts_of(GgufWriter().u16("split.no", 2).u16("split.count", 3).tensor("t", {8}));
  EXPECT_EQ(later.kind, FileKind::model);
  EXPECT_EQ(later.shard, 2U);
  EXPECT_EQ(later.traits.parameters, 8U);
  EXPECT_EQ(later.traits.weights, (WeightBytes{0, 32}));
  const GgufFacts empty_first =
      sound_facts_of(GgufWriter().text("general.architecture", "llama").u16("split.no", 0).u16("split.count", 2));
  EXPECT_EQ(empty_first.kind, FileKind::model) << "a first shard may hold the metadata alone";
  EXPECT_EQ(facts_of(GgufWriter::model("llama").u16("split.no", 3).u16("split.count", 3)).error().code,
            errc::malformed);
}

TEST(GgufFacts, WeightsAreOfLayersOrOfTheEnds) {
  auto writer = GgufWriter::model("llama");  // with token_embd.weight, 32 x 4 numbers
  writer.tensor("blk.0.attn_q.weight", {32, 8}).tensor("blk.1.ffn_up.weight", {256, 1}, 12).tensor("output", {16});
  EXPECT_EQ(sound_facts_of(writer).traits.weights, (WeightBytes{32 * 8 * 4 + 144, 32 * 4 * 4 + 16 * 4}));
  writer.tensor("blk.1.ffn_down.weight", {16}, 12'345);  // of a type that nobody knows
  EXPECT_EQ(sound_facts_of(writer).traits.weights, std::nullopt);
}

TEST(GgufFacts, WrongTypesAreMalformed) {
  EXPECT_EQ(facts_of(GgufWriter().u32("general.architecture", 1).tensor("t", {4})).error().code, errc::malformed);
  EXPECT_EQ(facts_of(GgufWriter().u32("unrelated", 1).tensor("t", {4})).error().code, errc::malformed);
  EXPECT_EQ(facts_of(GgufWriter().text("general.architecture", "a b").tensor("t", {4})).error().code, errc::malformed);
  const Result<GgufFacts> context = facts_of(
      GgufWriter().text("general.architecture", "llama").text("llama.context_length", "many").tensor("t", {4}));
  ASSERT_FALSE(context);
  EXPECT_EQ(context.error().code, errc::malformed);
  EXPECT_THAT(context.error().message, testing::HasSubstr("'test': 'llama.context_length' is not a whole number"));
}

TEST(GgufFacts, QuantisationComesFromTheTensorsWhenTheFileDoesNotSay) {
  GgufWriter writer;
  writer.text("general.architecture", "llama").tensor("norm", {512}).tensor("a", {32, 4}, 8).tensor("b", {256, 8}, 12);
  EXPECT_EQ(sound_facts_of(writer).traits.quantisation, "Q4_K");
}

}  // namespace
}  // namespace corral::models
