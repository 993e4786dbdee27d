// Prints an answer while it arrives: on a terminal with its Markdown, broken between words; elsewhere the exact text.
#pragma once

#include <optional>
#include <string_view>

#include "cli/terminal/markdown.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/word_wrap.h"

namespace corral::cli {

// One answer. `terminal` must outlive it. One thread.
class AnswerPrinter {
 public:
  // `plain`: the text is data, such as JSON: no Markdown, and no line ends of its own.
  AnswerPrinter(const Terminal& terminal, bool plain);

  // Reasoning is shown only on terminals: it isn't part of the result.
  void reasoning(std::string_view text);
  void content(std::string_view text);
  // The answer ends, with a line end if it printed anything.
  void end();

 private:
  void end_reasoning();

  const Terminal* terminal_;
  Markdown content_;
  std::optional<WordWrap> reasoning_;  // the current output
  bool at_line_start_ = true;
};

}  // namespace corral::cli
