// Random projectors for decoders of this width, in three architectures of libmtmd. They give embeddings of the size of
// a token's, which depend on every part of the picture.
#pragma once

#include <cstdint>
#include <string>

#include "model.h"

namespace corral::test_models {

struct ProjectorShape {
  std::uint32_t projected = 64;  // width of the decoder
  std::uint32_t width = 32;
  std::uint32_t heads = 2;
  std::uint32_t ffn = 64;
  std::uint32_t layers = 2;
  ggml_type matrices = GGML_TYPE_F32;
  std::uint32_t picture = 0;  // pixels of a side; 0: 56 of LLaVA's, 64 of the others
};
// Of any picture, or of one of 64 x 64 pixels, with the sizes above.
inline constexpr std::uint32_t kPictureTokens = 16;

// LLaVA's: each patch of 14 x 14 pixels becomes an embedding. They see each other as tokens do, from first to last.
Model make_llava_projector(const std::string& name, const std::string& title, const ProjectorShape& shape,
                           std::uint64_t seed);
// Gemma 3's, after SigLIP: four patches of 8 x 8 pixels become one embedding, and the decoder lets all of them see each
// other.
Model make_gemma3_projector(const std::string& name, const std::string& title, const ProjectorShape& shape,
                            std::uint64_t seed);
// Qwen2-VL's: four patches of 8 x 8 pixels become one embedding, so that larger pictures have more of them. Its decoder
// (qwen2vl) sees them in rows and columns.
Model make_qwen2vl_projector(const std::string& name, const std::string& title, const ProjectorShape& shape,
                             std::uint64_t seed);

}  // namespace corral::test_models
