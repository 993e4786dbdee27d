// Input typed by a person, or from a pipe.
#pragma once

#include <string>
#include <string_view>

#include "cli/terminal/interrupts.h"

namespace corral::cli {

struct InputLine {
  enum class Kind { line, end, interrupted };
  Kind kind = Kind::end;
  std::string text;  // without the line end
};

class LineInput {
 public:
  virtual ~LineInput() = default;
  // Waits for a line, the end of the input, or Ctrl-C.
  virtual InputLine read_line() = 0;
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

 private:
  enum class More { yes, end, interrupted };
  More read_more();

  const int fd_;
  Interrupts& interrupts_;
  std::string pending_;
};

}  // namespace corral::cli
