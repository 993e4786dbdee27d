// A progress bar, on standard error so that it never mixes with results. Without output if standard error is no
// terminal.
#pragma once

#include <string>
#include <string_view>

#include "cli/terminal/terminal.h"

namespace corral::cli {

class ProgressBar {
 public:
  ProgressBar(const Terminal& terminal, std::string label) : terminal_(terminal), label_(std::move(label)) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `share` from 0 to 1.
  void show(double share, std::string_view stage);
  // Removes the bar from the screen.
  void clear();

 private:
  const Terminal& terminal_;
  const std::string label_;
  std::string shown_;
};

}  // namespace corral::cli
