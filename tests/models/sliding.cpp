#include "sliding.h"

#include <cmath>

#include <fmt/format.h>

namespace corral::test_models {
namespace {

constexpr std::uint32_t kLayers = 2;
// The last quarter of a token's values is for what the first block hears.
std::int64_t attended_from(const DecoderShape& shape) { return shape.width * 3 / 4; }

// The weights of a norm: `value` at the places [from, to), nothing elsewhere.
Tensor window(const std::string& name, std::int64_t width, float value, std::int64_t from, std::int64_t to) {
  return {name, GGML_TYPE_F32, {width}, [=](std::span<float> out) {
            for (std::size_t i = 0; i < out.size(); ++i) {
              const auto place = static_cast<std::int64_t>(i);
              out[i] = place >= from && place < to ? value : 0.0F;
            }
          }};
}

// A projection whose outputs below `from` are nothing.
Tensor projection_from(const Weights& weights, const std::string& name, ggml_type type, std::vector<std::int64_t> shape,
                       float gain, std::int64_t from) {
  Tensor tensor = weights.projection(name, type, shape, gain);
  tensor.fill = [inner = std::move(tensor.fill), from, row = std::int64_t{0},
                 width = static_cast<std::size_t>(shape[0])](std::span<float> out) mutable {
    inner(out);
    for (std::size_t at = 0; at < out.size(); at += width, ++row) {
      if (row < from) std::ranges::fill(out.subspan(at, width), 0.0F);
    }
  };
  return tensor;
}

void describe_window(Metadata& metadata, const std::string& arch, std::uint32_t tokens) {
  metadata.set(arch + ".attention.sliding_window", tokens);
  metadata.set(arch + ".attention.sliding_window_pattern", kLayers);  // every second block sees all
}

}  // namespace

Model make_gemma3(const std::string& name, const std::string& title, const DecoderShape& wanted,
                  const Vocabulary& vocabulary, std::uint64_t seed) {
  DecoderShape shape = wanted;
  shape.architecture = "gemma3";
  shape.layers = kLayers;
  const Weights weights(seed, name);
  const ggml_type type = shape.matrices;
  const std::int64_t width = shape.width, ffn = shape.ffn;
  const std::int64_t queries = shape.heads * shape.head_width, keys = shape.kv_heads * shape.head_width;
  const float side = std::sqrt(shape.focus);

  Model model;
  describe_decoder(model.metadata, shape, title, vocabulary);
  describe_window(model.metadata, shape.architecture, kGemmaWindow);
  std::vector<Tensor>& out = model.tensors;
  // Gemma multiplies its embeddings with the square root of the width.
  const float deviation = 1.0F / std::sqrt(static_cast<float>(width));
  out.push_back(weights.normal("token_embd.weight", type, {width, vocabulary.size()}, deviation));
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    const auto block = [layer](const char* part) { return fmt::format("blk.{}.{}.weight", layer, part); };
    const bool slides = layer == 0;
    // What a block adds is normed: these weights say where it goes.
    const std::int64_t from = slides ? attended_from(shape) : 0;
    out.push_back(window(block("attn_norm"), width, 1.0F, 0, slides ? width : attended_from(shape)));
    out.push_back(weights.projection(block("attn_q"), type, {width, queries}, 1.0F));
    out.push_back(weights.projection(block("attn_k"), type, {width, keys}, 1.0F));
    out.push_back(weights.projection(block("attn_v"), type, {width, keys}, 1.0F));
    out.push_back(Weights::fixed(block("attn_q_norm"), {shape.head_width}, side));
    out.push_back(Weights::fixed(block("attn_k_norm"), {shape.head_width}, side));
    out.push_back(weights.projection(block("attn_output"), type, {queries, width}, 1.0F));
    out.push_back(window(block("post_attention_norm"), width, shape.attention_gain, from, width));
    out.push_back(Weights::fixed(block("ffn_norm"), {width}, 1.0F));
    out.push_back(weights.projection(block("ffn_gate"), type, {width, ffn}, 2.0F));
    out.push_back(weights.projection(block("ffn_up"), type, {width, ffn}, 1.0F));
    out.push_back(weights.projection(block("ffn_down"), type, {ffn, width}, 1.0F));
    out.push_back(window(block("post_ffw_norm"), width, shape.ffn_gain, from, width));
  }
  out.push_back(Weights::fixed("output_norm.weight", {width}, 1.0F));
  out.push_back(plain_text_output(weights, type, width, shape.logits, vocabulary));
  return model;
}

Model make_gpt_oss(const std::string& name, const std::string& title, const DecoderShape& wanted,
                   const Vocabulary& vocabulary, std::uint64_t seed) {
  constexpr float kBias = 0.1F;
  constexpr float kSinks = 4.0F;  // some heads find the sink louder than every token
  DecoderShape shape = wanted;
  shape.architecture = "gpt-oss";
  shape.layers = kLayers;
  const Weights weights(seed, name);
  const ggml_type type = shape.matrices;
  const std::int64_t width = shape.width, ffn = shape.ffn, experts = shape.experts;
  const std::int64_t queries = shape.heads * shape.head_width, keys = shape.kv_heads * shape.head_width;
  const float side = std::sqrt(shape.focus);

  Model model;
  describe_decoder(model.metadata, shape, title, vocabulary);
  describe_window(model.metadata, shape.architecture, kGptOssWindow);
  std::vector<Tensor>& out = model.tensors;
  out.push_back(weights.normal("token_embd.weight", type, {width, vocabulary.size()}, 1.0F));
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    const auto part = [layer](const char* of) { return fmt::format("blk.{}.{}", layer, of); };
    const auto matrix = [&](const char* of, std::vector<std::int64_t> sides, float gain) {
      out.push_back(weights.projection(part(of) + ".weight", type, std::move(sides), gain));
    };
    const auto bias = [&](const char* of, std::vector<std::int64_t> sides) {
      out.push_back(weights.normal(part(of) + ".bias", GGML_TYPE_F32, std::move(sides), kBias));
    };
    const bool slides = layer == 0;
    const std::int64_t attended = attended_from(shape);
    out.push_back(window(part("attn_norm.weight"), width, 1.0F, 0, slides ? width : attended));
    matrix("attn_q", {width, queries}, side);
    matrix("attn_k", {width, keys}, side);
    matrix("attn_v", {width, keys}, 1.0F);
    out.push_back(projection_from(weights, part("attn_output.weight"), type, {queries, width},
                                  slides ? 2 * shape.attention_gain : shape.attention_gain, slides ? attended : 0));
    out.push_back(Weights::fixed(part("attn_output.bias"), {width}, 0.0F));
    out.push_back(weights.normal(part("attn_sinks.weight"), GGML_TYPE_F32, {shape.heads}, kSinks));
    out.push_back(window(part("post_attention_norm.weight"), width, 1.0F, 0, slides ? attended : width));
    out.push_back(weights.projection(part("ffn_gate_inp.weight"), GGML_TYPE_F32, {width, experts}, 2.0F));
    bias("ffn_gate_inp", {experts});
    matrix("ffn_gate_exps", {width, ffn, experts}, 2.0F);
    bias("ffn_gate_exps", {ffn, experts});
    matrix("ffn_up_exps", {width, ffn, experts}, 1.0F);
    bias("ffn_up_exps", {ffn, experts});
    matrix("ffn_down_exps", {ffn, width, experts}, shape.ffn_gain);
    bias("ffn_down_exps", {width, experts});
  }
  out.push_back(Weights::fixed("output_norm.weight", {width}, 1.0F));
  out.push_back(plain_text_output(weights, type, width, shape.logits, vocabulary));
  return model;
}

}  // namespace corral::test_models
