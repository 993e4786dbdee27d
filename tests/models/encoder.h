// A random BERT encoder with mean pooling. Texts that share words get near embeddings, because each token keeps much of
// itself through the blocks.
#pragma once

#include <cstdint>
#include <string>

#include "model.h"
#include "vocabulary.h"

namespace corral::test_models {

// llama.h's LLAMA_POOLING_TYPE_*.
enum class Pooling : std::uint32_t { kMean = 1, kRank = 4 };

struct EncoderShape {
  Pooling pooling = Pooling::kMean;
  ggml_type matrices = GGML_TYPE_F16;
  std::uint32_t layers = 2;
  std::uint32_t width = 64;
  std::uint32_t heads = 4;
  std::uint32_t ffn = 128;
  std::uint32_t context = 512;  // tokens; also the rows of the position table
  float attention_gain = 0.5F;  // how much a token takes from the others
};

// The metadata of a BERT of this shape.
void describe_encoder(Metadata& metadata, const EncoderShape& shape, const std::string& title,
                      const Vocabulary& vocabulary);

Model make_encoder(const std::string& name, const std::string& title, const EncoderShape& shape,
                   const Vocabulary& vocabulary, std::uint64_t seed);

}  // namespace corral::test_models
