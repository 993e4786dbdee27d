// Messages typed at a terminal, with line editing, a history and pasted texts of several lines. By libedit: readline's
// licence isn't that of this program, linenoise has no combining characters, and replxx isn't in Debian 12.
#pragma once

#include <memory>

#include "cli/terminal/line_input.h"
#include "cli/terminal/message_history.h"

namespace corral::cli {

// Standard input at a terminal, for messages; everything else is as StandardInput does it. Needs a terminal for input
// and output. One thread; `input` and `history` must outlive it.
//
// Keys as in a shell (emacs): arrows, Home, End, Ctrl-R searches the history, Alt-B and Alt-F move by words, Alt-Enter
// begins a new line.
class LineEditor final : public LineInput {
 public:
  LineEditor(StandardInput& input, const MessageHistory& history);
  ~LineEditor() override;

  InputLine read_line() override { return input_.read_line(); }
  InputLine read_all() override { return input_.read_all(); }
  bool is_piped() const override { return input_.is_piped(); }
  InputLine read_message(const Prompt& prompt) override;
  void remember(std::string_view message) override;

 private:
  struct Editor;  // libedit's objects

  StandardInput& input_;
  const MessageHistory& history_;
  std::unique_ptr<Editor> editor_;  // made for the first message: other commands don't pay for it
};

}  // namespace corral::cli
