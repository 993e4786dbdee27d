#include "decoder.h"

#include <cmath>

#include <fmt/format.h>

#include "byte_level.h"
#include "chat_template.h"

namespace corral::test_models {

void describe_decoder(Metadata& metadata, const DecoderShape& shape, const std::string& title,
                      const Vocabulary& vocabulary) {
  const std::string& arch = shape.architecture;
  describe_model(metadata, arch, title, file_type(shape.matrices));
  metadata.set(arch + ".block_count", shape.layers);
  metadata.set(arch + ".context_length", shape.context);
  metadata.set(arch + ".embedding_length", shape.width);
  metadata.set(arch + ".feed_forward_length", shape.ffn);
  metadata.set(arch + ".attention.head_count", shape.heads);
  metadata.set(arch + ".attention.head_count_kv", shape.kv_heads);
  metadata.set(arch + ".attention.key_length", shape.head_width);
  metadata.set(arch + ".attention.value_length", shape.head_width);
  metadata.set(arch + ".attention.layer_norm_rms_epsilon", 1e-6F);
  metadata.set(arch + ".rope.freq_base", shape.rope_base);
  metadata.set(arch + ".rope.dimension_count", shape.head_width);
  if (arch == "qwen2vl") metadata.set(arch + ".rope.dimension_sections", std::vector<std::int32_t>{2, 3, 3, 0});
  metadata.set(arch + ".vocab_size", static_cast<std::uint32_t>(vocabulary.size()));
  if (shape.experts > 0) {
    metadata.set(arch + ".expert_count", shape.experts);
    metadata.set(arch + ".expert_used_count", shape.experts_used);
    metadata.set(arch + ".expert_feed_forward_length", shape.ffn);
  }
  vocabulary.describe(metadata);
  metadata.set("tokenizer.chat_template", kChatTemplate);
}

Tensor plain_text_output(const Weights& weights, ggml_type type, std::int64_t width, float logits,
                         const Vocabulary& vocabulary) {
  std::vector<bool> sayable;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    sayable.push_back(vocabulary.types[i] == kNormal && is_plain_text(token_bytes(vocabulary.tokens[i])));
  }
  const float deviation = logits / std::sqrt(static_cast<float>(width));
  return {"output.weight",
          type,
          {width, vocabulary.size()},
          [random = weights.stream("output.weight"), sayable, deviation, width,
           row = std::size_t{0}](std::span<float> out) mutable {
            for (std::size_t i = 0; i < out.size(); ++i) {
              const float value = random.normal() * deviation;
              out[i] = sayable[row + i / static_cast<std::size_t>(width)] ? value : 0.0F;
            }
            row += out.size() / static_cast<std::size_t>(width);
          }};
}

Model make_decoder(const std::string& name, const std::string& title, const DecoderShape& shape,
                   const Vocabulary& vocabulary, std::uint64_t seed) {
  const Weights weights(seed, name);
  const ggml_type type = shape.matrices;
  const bool normed = shape.architecture.starts_with("qwen3");  // queries and keys are normed per head
  const std::int64_t width = shape.width;
  const std::int64_t ffn = shape.ffn;
  const std::int64_t experts = shape.experts;
  const std::int64_t queries = shape.heads * shape.head_width;
  const std::int64_t keys = shape.kv_heads * shape.head_width;
  // The product of a query and a key has the standard deviation gain(q) * gain(k); with norms, both are their weights.
  const float side = std::sqrt(shape.focus);
  const float projected = normed ? 1.0F : side;

  Model model;
  describe_decoder(model.metadata, shape, title, vocabulary);
  std::vector<Tensor>& out = model.tensors;
  out.push_back(weights.normal("token_embd.weight", type, {width, vocabulary.size()}, 1.0F));
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    const auto block = [layer](const char* part) { return fmt::format("blk.{}.{}.weight", layer, part); };
    out.push_back(Weights::fixed(block("attn_norm"), {width}, 1.0F));
    out.push_back(weights.projection(block("attn_q"), type, {width, queries}, projected));
    out.push_back(weights.projection(block("attn_k"), type, {width, keys}, projected));
    out.push_back(weights.projection(block("attn_v"), type, {width, keys}, 1.0F));
    if (normed) {
      out.push_back(Weights::fixed(block("attn_q_norm"), {shape.head_width}, side));
      out.push_back(Weights::fixed(block("attn_k_norm"), {shape.head_width}, side));
    }
    const bool speaks = layer + 1 == shape.layers;
    out.push_back(
        weights.projection(block("attn_output"), type, {queries, width}, speaks ? shape.attention_gain : 0.0F));
    out.push_back(Weights::fixed(block("ffn_norm"), {width}, 1.0F));
    if (experts > 0) {
      out.push_back(weights.projection(block("ffn_gate_inp"), GGML_TYPE_F32, {width, experts}, 2.0F));
      out.push_back(weights.projection(block("ffn_gate_exps"), type, {width, ffn, experts}, 2.0F));
      out.push_back(weights.projection(block("ffn_up_exps"), type, {width, ffn, experts}, 1.0F));
      out.push_back(weights.projection(block("ffn_down_exps"), type, {ffn, width, experts}, shape.ffn_gain));
    } else {
      out.push_back(weights.projection(block("ffn_gate"), type, {width, ffn}, 2.0F));
      out.push_back(weights.projection(block("ffn_up"), type, {width, ffn}, 1.0F));
      out.push_back(weights.projection(block("ffn_down"), type, {ffn, width}, shape.ffn_gain));
    }
  }
  out.push_back(Weights::fixed("output_norm.weight", {width}, 1.0F));
  out.push_back(plain_text_output(weights, type, shape.width, shape.logits, vocabulary));
  return model;
}

}  // namespace corral::test_models
