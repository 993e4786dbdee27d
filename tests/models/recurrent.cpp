#include "recurrent.h"

#include <cmath>

#include <fmt/format.h>

#include "chat_template.h"
#include "decoder.h"

namespace corral::test_models {
namespace {

constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kInner = 128;
constexpr std::int64_t kState = 16;
constexpr std::int64_t kConvolution = 4;  // tokens seen by the convolution
constexpr std::int64_t kStepRank = 4;

void describe_state(Metadata& metadata, const std::string& arch) {
  metadata.set(arch + ".ssm.conv_kernel", static_cast<std::uint32_t>(kConvolution));
  metadata.set(arch + ".ssm.inner_size", static_cast<std::uint32_t>(kInner));
  metadata.set(arch + ".ssm.state_size", static_cast<std::uint32_t>(kState));
  metadata.set(arch + ".ssm.time_step_rank", static_cast<std::uint32_t>(kStepRank));
}

// A block's state, behind the norm in front of it.
void add_state(const Weights& weights, const std::string& block, ggml_type type, std::vector<Tensor>& out) {
  out.push_back(weights.projection(block + "ssm_in.weight", type, {kWidth, 2 * kInner}, 2.0F));
  out.push_back(weights.projection(block + "ssm_conv1d.weight", GGML_TYPE_F32, {kConvolution, kInner}, 1.0F));
  out.push_back(Weights::fixed(block + "ssm_conv1d.bias", {kInner}, 0.0F));
  out.push_back(weights.projection(block + "ssm_x.weight", type, {kInner, kStepRank + 2 * kState}, 2.0F));
  out.push_back(weights.projection(block + "ssm_dt.weight", GGML_TYPE_F32, {kStepRank, kInner}, 1.0F));
  out.push_back(Weights::fixed(block + "ssm_dt.bias", {kInner}, -2.0F));  // steps near softplus(-2) = 0.13
  // The decay rates of a channel's states: a sixteenth of Mamba's usual 1 ... 16, so that words stay for long.
  out.push_back({block + "ssm_a", GGML_TYPE_F32, {kState, kInner}, [](std::span<float> values) {
                   for (std::size_t i = 0; i < values.size(); ++i)
                     values[i] = -static_cast<float>(i % kState + 1) / 16.0F;
                 }});
  out.push_back(Weights::fixed(block + "ssm_d", {kInner}, 0.5F));
  out.push_back(weights.projection(block + "ssm_out.weight", type, {kInner, kWidth}, 1.0F));
}

}  // namespace

Model make_mamba(const std::string& name, const std::string& title, const Vocabulary& vocabulary, std::uint64_t seed) {
  constexpr std::uint32_t kLayers = 2;
  const Weights weights(seed, name);

  Model model;
  Metadata& metadata = model.metadata;
  describe_model(metadata, "mamba", title, FileType::kF16);
  metadata.set("mamba.block_count", kLayers);
  metadata.set("mamba.context_length", std::uint32_t{1U << 20U});
  metadata.set("mamba.embedding_length", static_cast<std::uint32_t>(kWidth));
  metadata.set("mamba.feed_forward_length", std::uint32_t{0});
  metadata.set("mamba.attention.head_count", std::uint32_t{0});
  metadata.set("mamba.attention.layer_norm_rms_epsilon", 1e-5F);
  describe_state(metadata, "mamba");
  metadata.set("mamba.ssm.dt_b_c_rms", false);
  metadata.set("mamba.vocab_size", static_cast<std::uint32_t>(vocabulary.size()));
  vocabulary.describe(metadata);
  metadata.set("tokenizer.chat_template", kChatTemplate);

  std::vector<Tensor>& out = model.tensors;
  const ggml_type type = GGML_TYPE_F16;
  out.push_back(weights.normal("token_embd.weight", type, {kWidth, vocabulary.size()}, 1.0F));
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    const std::string block = fmt::format("blk.{}.", layer);
    out.push_back(Weights::fixed(block + "attn_norm.weight", {kWidth}, 1.0F));
    add_state(weights, block, type, out);
  }
  out.push_back(Weights::fixed("output_norm.weight", {kWidth}, 1.0F));
  out.push_back(plain_text_output(weights, type, kWidth, 4.0F, vocabulary));
  return model;
}

// The attention looks at what the state made of the tokens, so both must be right. It is less sharp than other models':
// rounding in the state must not choose another token to look at.
Model make_jamba(const std::string& name, const std::string& title, const Vocabulary& vocabulary, std::uint64_t seed) {
  const DecoderShape shape{.architecture = "jamba", .matrices = GGML_TYPE_F32, .kv_heads = 2, .focus = 4.0F};
  const std::int64_t keys = shape.kv_heads * shape.head_width, ffn = shape.ffn;
  const Weights weights(seed, name);
  const ggml_type type = shape.matrices;

  Model model;
  describe_decoder(model.metadata, shape, title, vocabulary);
  // A block without heads is one of mamba.
  model.metadata.set("jamba.attention.head_count_kv",
                     std::vector<std::int32_t>{0, static_cast<std::int32_t>(shape.kv_heads)});
  describe_state(model.metadata, "jamba");
  std::vector<Tensor>& out = model.tensors;
  out.push_back(weights.normal("token_embd.weight", type, {kWidth, vocabulary.size()}, 1.0F));
  for (std::uint32_t layer = 0; layer < shape.layers; ++layer) {
    const std::string block = fmt::format("blk.{}.", layer);
    out.push_back(Weights::fixed(block + "attn_norm.weight", {kWidth}, 1.0F));
    if (layer == 0) {
      out.push_back(Weights::fixed(block + "ssm_dt_norm.weight", {kStepRank}, 1.0F));
      out.push_back(Weights::fixed(block + "ssm_b_norm.weight", {kState}, 1.0F));
      out.push_back(Weights::fixed(block + "ssm_c_norm.weight", {kState}, 1.0F));
      add_state(weights, block, type, out);
    } else {
      const float side = std::sqrt(shape.focus);
      out.push_back(weights.projection(block + "attn_q.weight", type, {kWidth, kWidth}, side));
      out.push_back(weights.projection(block + "attn_k.weight", type, {kWidth, keys}, side));
      out.push_back(weights.projection(block + "attn_v.weight", type, {kWidth, keys}, 1.0F));
      out.push_back(weights.projection(block + "attn_output.weight", type, {kWidth, kWidth}, shape.attention_gain));
    }
    out.push_back(Weights::fixed(block + "ffn_norm.weight", {kWidth}, 1.0F));
    out.push_back(weights.projection(block + "ffn_gate.weight", type, {kWidth, ffn}, 2.0F));
    out.push_back(weights.projection(block + "ffn_up.weight", type, {kWidth, ffn}, 1.0F));
    out.push_back(weights.projection(block + "ffn_down.weight", type, {ffn, kWidth}, shape.ffn_gain));
  }
  out.push_back(Weights::fixed("output_norm.weight", {kWidth}, 1.0F));
  out.push_back(plain_text_output(weights, type, kWidth, shape.logits, vocabulary));
  return model;
}

}  // namespace corral::test_models
