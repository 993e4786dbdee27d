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

// Qwen2-0.5B's shape (24 blocks of 896, 14 query and 2 key heads, FFN 4,864, tied embeddings, all 151,936 tokens) with
// random weights, 494 million. Q4_0 keeps the embeddings in Q8_0, as llama.cpp's quantiser does for this width.
Model make_half_billion(const std::string& title, ggml_type matrices, const Vocabulary& qwen2, std::uint64_t seed);

}  // namespace corral::test_models
