// Input typed by a person, or from a pipe.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/interrupts.h"

namespace corral::cli {

struct InputLine {
  enum class Kind { line, end, interrupted };
  Kind kind = Kind::end;
  std::string text;  // without the line end; of an interrupted one, what was typed
};

// What a person is asked for.
struct Prompt {
  std::string_view text;
  std::ostream& out;
  // Texts that may replace the typed one, for the Tab key.
  std::function<std::vector<std::string>(std::string_view typed)> complete = {};
};

class LineInput {
 public:
  virtual ~LineInput() = default;
  // Waits for a line, the end of the input, or Ctrl-C.
  virtual InputLine read_line() = 0;
  // Shows the prompt and waits for a message. With an editor it may have several lines.
  virtual InputLine read_message(const Prompt& prompt) {
    prompt.out << prompt.text << std::flush;
    return read_line();
  }
  // Adds a message to the history of the editor, if there is one.
  virtual void remember(std::string_view) {}
  // Everything up to the end. InputLine::Kind::line, or interrupted.
  virtual InputLine read_all() = 0;
  // True: input from a pipe or a file. False for sockets and devices, which may never end.
  virtual bool is_piped() const = 0;
};

// Standard input. `interrupts` must outlive it.
class StandardInput final : public LineInput {
 public:
  StandardInput(int fd, Interrupts& interrupts) : fd_(fd), interrupts_(interrupts) {}

  InputLine read_line() override;
  InputLine read_all() override;
  bool is_piped() const override;

  enum class More { yes, end, interrupted };
  More read_byte(char& byte);
  // Bytes that have been read already, and one that is read again.
  std::string_view ready() const { return pending_; }
  void unread(char byte) { pending_.insert(pending_.begin(), byte); }

 private:
  More read_more();

  const int fd_;
  Interrupts& interrupts_;
  std::string pending_;
};

}  // namespace corral::cli
