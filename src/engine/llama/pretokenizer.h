// Stack and time that libllama's pre-tokenizers need. Pure; measured with the pinned release of libllama.
//
// They split a text into words before tokenization: some by code of their own, the others by std::regex. std::regex
// recurses once for each character of a match, so one long run of equal characters overflows the stack of an ordinary
// thread and ends the process. Some patterns also take time that grows with the square of a run.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::engine {

// The pre-tokenizer of a model, by its "tokenizer.ggml.pre". Without a name the model has none (SentencePiece,
// WordPiece). Immutable.
class Pretokenizer {
 public:
  Pretokenizer() = default;
  explicit Pretokenizer(std::string name) : name_(std::move(name)) {}

  // Stack that it may need for this text; kOrdinaryStack, which any thread has, is the least.
  Result<std::size_t> stack_for(std::string_view text) const;

 private:
  std::string name_;
};

// Bytes of the longest part of a text that one match can cover. No pattern matches across an end of line that is
// followed by a letter or digit.
std::size_t longest_stretch(std::string_view text);

}  // namespace corral::engine
