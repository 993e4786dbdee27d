#include "special.h"

#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "chat_template.h"

namespace corral::test_models {

Model make_lora(const std::string& name, const std::string& title, const DecoderShape& shape, std::uint64_t seed) {
  constexpr std::int64_t kRank = 4;
  const Weights weights(seed, name);
  const std::int64_t width = shape.width;
  const std::int64_t queries = shape.heads * shape.head_width;
  const std::int64_t keys = shape.kv_heads * shape.head_width;

  Model model;
  describe_model(model.metadata, shape.architecture, title, FileType::kF32);
  model.metadata.set("general.type", "adapter");
  model.metadata.set("adapter.type", "lora");
  model.metadata.set("adapter.lora.alpha", static_cast<float>(kRank));
  struct Target {
    const char* part;
    std::int64_t from, to;
  };
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    for (const Target& target : {Target{"attn_q", width, queries}, Target{"attn_v", width, keys},
                                 Target{"attn_output", queries, width}, Target{"ffn_down", shape.ffn, width}}) {
      const std::string base = fmt::format("blk.{}.{}.weight", layer, target.part);
      model.tensors.push_back(weights.projection(base + ".lora_a", GGML_TYPE_F32, {target.from, kRank}, 1.0F));
      model.tensors.push_back(weights.projection(base + ".lora_b", GGML_TYPE_F32, {kRank, target.to}, 1.0F));
    }
  }
  return model;
}

std::vector<Model> split(Model model, std::uint16_t count) {
  const std::size_t total = model.tensors.size();
  std::vector<Model> shards(count);
  for (std::uint16_t shard = 0; shard < count; ++shard) {
    const auto from = static_cast<std::ptrdiff_t>(total * shard / count);
    const auto to = static_cast<std::ptrdiff_t>(total * (shard + 1U) / count);
    std::ranges::move(model.tensors.begin() + from, model.tensors.begin() + to,
                      std::back_inserter(shards[shard].tensors));
  }
  shards[0].metadata = std::move(model.metadata);
  for (std::uint16_t shard = 0; shard < count; ++shard) {
    shards[shard].metadata.set_u16("split.no", shard);
    shards[shard].metadata.set_u16("split.count", count);
    shards[shard].metadata.set("split.tensors.count", static_cast<std::int32_t>(total));
  }
  return shards;
}

QwenShape qwen_half_billion() { return {.name = "half-billion", .size = "0.5B"}; }

QwenShape qwen_seven_billion() {
  return {.name = "seven-billion",
          .size = "7B",
          .layers = 28,
          .width = 3584,
          .heads = 28,
          .kv_heads = 4,
          .ffn = 18944,
          .tied = false};
}

Model make_qwen(const QwenShape& shape, const std::string& title, ggml_type matrices, const Vocabulary& qwen2,
                std::uint64_t seed) {
  const std::int64_t width = shape.width;
  const std::int64_t ffn = shape.ffn;
  const std::int64_t keys = width / shape.heads * shape.kv_heads;
  const Weights weights(seed, shape.name);
  const Vocabulary vocabulary = full_bpe(qwen2);

  Model model;
  Metadata& metadata = model.metadata;
  describe_model(metadata, "qwen2", title, file_type(matrices));
  metadata.set("general.size_label", shape.size);
  metadata.set("qwen2.block_count", shape.layers);
  metadata.set("qwen2.context_length", std::uint32_t{32768});
  metadata.set("qwen2.embedding_length", shape.width);
  metadata.set("qwen2.feed_forward_length", shape.ffn);
  metadata.set("qwen2.attention.head_count", shape.heads);
  metadata.set("qwen2.attention.head_count_kv", shape.kv_heads);
  metadata.set("qwen2.attention.layer_norm_rms_epsilon", 1e-6F);
  metadata.set("qwen2.rope.freq_base", 1e6F);
  vocabulary.describe(metadata);
  metadata.set("tokenizer.chat_template", kChatTemplate);

  // As in real models the embeddings are small beside what the blocks add, so that the tied output says more than the
  // last token again; attention is sharp, or the text would collapse into one word.
  std::vector<Tensor>& out = model.tensors;
  out.push_back(weights.normal("token_embd.weight", GGML_TYPE_Q8_0, {width, vocabulary.size()}, 0.02F));
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    const std::string block = fmt::format("blk.{}.", layer);
    const auto matrix = [&](const char* part, std::int64_t from, std::int64_t to, float gain = 1.0F) {
      out.push_back(weights.projection(block + part + ".weight", matrices, {from, to}, gain));
    };
    const auto bias = [&](const char* part, std::int64_t to) {
      out.push_back(weights.normal(block + part + ".bias", GGML_TYPE_F32, {to}, 0.02F));
    };
    out.push_back(Weights::fixed(block + "attn_norm.weight", {width}, 1.0F));
    matrix("attn_q", width, width, 3.0F);
    bias("attn_q", width);
    matrix("attn_k", width, keys, 3.0F);
    bias("attn_k", keys);
    matrix("attn_v", width, keys);
    bias("attn_v", keys);
    matrix("attn_output", width, width, 0.7F);
    out.push_back(Weights::fixed(block + "ffn_norm.weight", {width}, 1.0F));
    matrix("ffn_gate", width, ffn);
    matrix("ffn_up", width, ffn);
    matrix("ffn_down", ffn, width, 1.5F);
  }
  out.push_back(Weights::fixed("output_norm.weight", {width}, 1.0F));
  if (!shape.tied) out.push_back(weights.normal("output.weight", GGML_TYPE_Q8_0, {width, vocabulary.size()}, 0.02F));
  return model;
}

}  // namespace corral::test_models
