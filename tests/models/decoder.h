// Random decoder-only transformers: llama, qwen3 (with query and key norms), qwen3moe, qwen2vl (M-RoPE). They know
// nothing, but what they say depends on every token of their context, so that a mixed-up KV cache shows in the text:
//  - attention is sharp (`focus`): each head looks at one or few tokens, chosen by their meaning and distance;
//  - the attention's answer is as large as the token itself (`attention_gain`).
// They only ever say plain text (byte_level.h), and never end by themselves: a greedy answer is as long as asked for.
#pragma once

#include <cstdint>
#include <string>

#include "model.h"
#include "vocabulary.h"

namespace corral::test_models {

struct DecoderShape {
  std::string architecture = "llama";
  ggml_type matrices = GGML_TYPE_F16;
  std::uint32_t layers = 2;
  std::uint32_t width = 64;  // n_embd
  std::uint32_t heads = 4;
  std::uint32_t kv_heads = 2;
  std::uint32_t head_width = 16;
  std::uint32_t ffn = 128;
  std::uint32_t experts = 0;  // 0: dense
  std::uint32_t experts_used = 0;
  std::uint32_t context = 8192;  // tokens
  float rope_base = 10000.0F;
  float focus = 12.0F;  // standard deviation of the attention's logits
  float attention_gain = 1.2F;
  float ffn_gain = 1.0F;
  float logits = 4.0F;  // standard deviation of the output's logits
};

// `name` seeds the weights, `title` goes into general.name.
Model make_decoder(const std::string& name, const std::string& title, const DecoderShape& shape,
                   const Vocabulary& vocabulary, std::uint64_t seed);

// What the file says of such a model; `shape` names the architecture.
void describe_decoder(Metadata& metadata, const DecoderShape& shape, const std::string& title,
                      const Vocabulary& vocabulary);

// The output matrix of a random model, with logits of this standard deviation. Rows of tokens that must not be said are
// zero: among a thousand random logits the greatest is well above.
Tensor plain_text_output(const Weights& weights, ggml_type type, std::int64_t width, float logits,
                         const Vocabulary& vocabulary);

}  // namespace corral::test_models
