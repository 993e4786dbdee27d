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
  // Of work whose share is unknown: a sign that moves with each call, and the stage.
  void show(std::string_view stage);
  // Removes the bar from the screen.
  void clear();

 private:
  void draw(std::string line);

  const Terminal& terminal_;
  const std::string label_;
  std::string shown_;
  std::size_t turns_ = 0;
};

}  // namespace corral::cli
