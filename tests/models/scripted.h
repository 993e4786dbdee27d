// Scripted models: their greedy text is known before they run. The blocks add nothing to the residual stream (zero
// output projections, but attention and KV cache run as in any model), a token's embedding is the code of the token
// that follows it, and the output matrix holds every token's own code. So each token decides the next, and a text must
// not use one token twice: the script is cut into distinct tokens of the full vocabulary, wherever needed in an unusual
// way. Every token outside the script is followed by the script's first token: whatever the prompt, the text starts at
// its beginning (the generation prompt of the chat template ends with a line feed, which no script uses by itself).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model.h"
#include "vocabulary.h"

namespace corral::test_models {

struct Script {
  std::string text{};  // special tokens (<tool_call>) may occur in it
  std::string loop{};  // then this for ever; empty: the answer ends with <|im_end|>
  bool split_characters =
      false;  // where possible, cut multi-byte characters into tokens that are no text by themselves
  std::uint32_t context = 8192;
};

// Distinct tokens that spell `text`, of which none is in `used` (which grows by them). Few long tokens are preferred.
// Throws std::runtime_error if there is no such way.
std::vector<std::string> cut_script(const std::string& text, bool split_characters, const Vocabulary& vocabulary,
                                    std::vector<std::string>& used);

Model make_scripted(const std::string& name, const std::string& title, const Script& script, const Vocabulary& qwen2,
                    std::uint64_t seed);

}  // namespace corral::test_models
