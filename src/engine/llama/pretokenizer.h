// What libllama's pre-tokenizers take of stack and time. Pure; measured with the pinned release of libllama.
//
// They split a text into words before it becomes tokens: some by code of their own, the others by std::regex. That
// recurses once for each character of a match, so one long run of equal characters overflows the stack of an ordinary
// thread and ends the process. Some of their patterns also take time that grows with the square of a run.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace corral::engine {

// The one of a model, by its "tokenizer.ggml.pre". Without a name: the model has none (SentencePiece, WordPiece).
// Immutable.
class Pretokenizer {
 public:
  Pretokenizer() = default;
  explicit Pretokenizer(std::string name) : name_(std::move(name)) {}

  // Stack that it may take for this text; not above kOrdinaryStack: any thread has that.
  // Errors: input_too_long (a stretch that takes too much stack, or runs that take too long).
  Result<std::size_t> stack_for(std::string_view text) const;

 private:
  std::string name_;
};

// Bytes of the longest part of a text that one match can cover. No pattern matches across the end of a line that a
// letter or digit follows.
std::size_t longest_stretch(std::string_view text);

}  // namespace corral::engine
