// The rest of the catalogue: an adapter, a set in two files, and the models of real size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder.h"
#include "model.h"
#include "vocabulary.h"

namespace corral::test_models {

// A LoRA of rank 4 for a dense decoder of this shape, strong enough to change every greedy text.
Model make_lora(const std::string& name, const std::string& title, const DecoderShape& shape, std::uint64_t seed);

// One model cut into `count` files, the metadata in the first, as llama.cpp's splitter does.
std::vector<Model> split(Model model, std::uint16_t count);

struct QwenShape {
  std::string name;  // seeds the weights
  std::string size;  // what a person reads
  std::uint32_t layers = 24;
  std::uint32_t width = 896;
  std::uint32_t heads = 14;
  std::uint32_t kv_heads = 2;
  std::uint32_t ffn = 4864;
  bool tied = true;  // the output is the embeddings
};
// 494 million weights.
QwenShape qwen_half_billion();
// 7.6 billion weights.
QwenShape qwen_seven_billion();

// A shape of Qwen2 with all 151,936 tokens and random weights. Q4_0 keeps the embeddings and the output in Q8_0, as
// llama.cpp's quantiser does for the small one's width.
Model make_qwen(const QwenShape& shape, const std::string& title, ggml_type matrices, const Vocabulary& qwen2,
                std::uint64_t seed);

}  // namespace corral::test_models
