#include "cli/chat/answer_printer.h"

#include <iostream>
#include <string>

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"

namespace corral::cli {
namespace {

// A window may have changed since the program began.
std::size_t width_of(const Terminal& terminal) {
  if (!terminal.out_tty) return 0;
  winsize size{};
  const bool own = &terminal.out == &std::cout && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return own ? size.ws_col : terminal.width;
}

}  // namespace

AnswerPrinter::AnswerPrinter(const Terminal& terminal, bool plain)
    : terminal_(&terminal), content_(terminal.out, plain ? 0 : width_of(terminal), terminal.colour && !plain) {}

void AnswerPrinter::reasoning(std::string_view text) {
  if (text.empty() || !terminal_->out_tty) return;
  if (!reasoning_) {
    reasoning_.emplace(terminal_->out, width_of(*terminal_));
    if (terminal_->colour) reasoning_->style("\x1b[2m");
  }
  reasoning_->write(printable(valid_utf8(text)));
  at_line_start_ = text.ends_with('\n');
  terminal_->out << std::flush;
}

void AnswerPrinter::end_reasoning() {
  if (!reasoning_) return;
  if (terminal_->colour) reasoning_->style("\x1b[0m");
  reasoning_->end();
  reasoning_.reset();
}

void AnswerPrinter::content(std::string_view text) {
  if (text.empty()) return;
  if (reasoning_) {
    end_reasoning();
    terminal_->out << "\n\n";
  }
  if (terminal_->out_tty) {
    content_.write(printable(valid_utf8(text)));
  } else {
    terminal_->out << text;
  }
  at_line_start_ = text.ends_with('\n');
  terminal_->out << std::flush;
}

void AnswerPrinter::end() {
  end_reasoning();
  content_.end();
  if (!at_line_start_) terminal_->out << '\n';
  at_line_start_ = true;
  terminal_->out << std::flush;
}

}  // namespace corral::cli
