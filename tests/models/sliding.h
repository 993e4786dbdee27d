// Decoders whose first block sees only the latest tokens, and whose second one sees all of them: gemma3's shape, and
// gpt-oss's (openai-moe: experts, biases, attention sinks).
//
// Both blocks' attention speaks, so that wrong cells in either cache show in the text; yet neither listens to the
// other, or rounding would grow from block to block: what the first one hears goes into the last quarter of a token's
// values, and the second one's attention doesn't look there.
#pragma once

#include <cstdint>
#include <string>

#include "decoder.h"
#include "model.h"
#include "vocabulary.h"

namespace corral::test_models {

// Tokens that the first block sees, the newest included.
inline constexpr std::uint32_t kGemmaWindow = 32;
inline constexpr std::uint32_t kGptOssWindow = 48;

// Of `shape`, architecture and layers aren't looked at; of a gpt-oss experts count.
Model make_gemma3(const std::string& name, const std::string& title, const DecoderShape& shape,
                  const Vocabulary& vocabulary, std::uint64_t seed);
Model make_gpt_oss(const std::string& name, const std::string& title, const DecoderShape& shape,
                   const Vocabulary& vocabulary, std::uint64_t seed);

}  // namespace corral::test_models
