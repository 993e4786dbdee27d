#include "encoder.h"

#include <fmt/format.h>

namespace corral::test_models {

void describe_encoder(Metadata& metadata, const EncoderShape& shape, const std::string& title,
                      const Vocabulary& vocabulary) {
  describe_model(metadata, "bert", title, file_type(shape.matrices));
  metadata.set("bert.block_count", shape.layers);
  metadata.set("bert.context_length", shape.context);
  metadata.set("bert.embedding_length", shape.width);
  metadata.set("bert.feed_forward_length", shape.ffn);
  metadata.set("bert.attention.head_count", shape.heads);
  metadata.set("bert.attention.layer_norm_epsilon", 1e-12F);
  metadata.set("bert.attention.causal", false);
  metadata.set("bert.pooling_type", static_cast<std::uint32_t>(shape.pooling));
  metadata.set("tokenizer.ggml.token_type_count", std::uint32_t{2});
  if (shape.pooling == Pooling::kRank)
    metadata.set("bert.classifier.output_labels", std::vector<std::string>{"relevance"});
  vocabulary.describe(metadata);
}

Model make_encoder(const std::string& name, const std::string& title, const EncoderShape& shape,
                   const Vocabulary& vocabulary, std::uint64_t seed) {
  const Weights weights(seed, name);
  const ggml_type type = shape.matrices;
  const std::int64_t width = shape.width;
  const std::int64_t ffn = shape.ffn;

  Model model;
  describe_encoder(model.metadata, shape, title, vocabulary);
  std::vector<Tensor>& out = model.tensors;
  const auto norm = [&](const std::string& part) {
    out.push_back(Weights::fixed(part + ".weight", {width}, 1.0F));
    out.push_back(Weights::fixed(part + ".bias", {width}, 0.0F));
  };
  const auto linear = [&](const std::string& part, std::int64_t from, std::int64_t to, float gain) {
    out.push_back(weights.projection(part + ".weight", type, {from, to}, gain));
    out.push_back(weights.normal(part + ".bias", GGML_TYPE_F32, {to}, 0.02F));
  };

  out.push_back(weights.normal("token_embd.weight", type, {width, vocabulary.size()}, 1.0F));
  out.push_back(weights.normal("token_types.weight", GGML_TYPE_F32, {width, 2}, 0.1F));
  out.push_back(weights.normal("position_embd.weight", type, {width, shape.context}, 0.2F));
  norm("token_embd_norm");
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    const std::string block = fmt::format("blk.{}.", layer);
    linear(block + "attn_q", width, width, 1.0F);
    linear(block + "attn_k", width, width, 1.0F);
    linear(block + "attn_v", width, width, 1.0F);
    linear(block + "attn_output", width, width, shape.attention_gain);
    norm(block + "attn_output_norm");
    linear(block + "ffn_up", width, ffn, 1.0F);
    linear(block + "ffn_down", ffn, width, 0.5F);
    norm(block + "layer_output_norm");
  }
  return model;
}

}  // namespace corral::test_models
