#include "cli/terminal/progress.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/terminal/format.h"

namespace corral::cli {
namespace {

constexpr std::size_t kBar = 24;
constexpr std::string_view kSpinner = "|/-\\";

}  // namespace

void ProgressBar::show(double share, std::string_view stage) {
  share = std::clamp(share, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(share * kBar);
  const std::string bar = std::string(full, '=') + std::string(kBar - full, ' ');
  draw(fmt::format("{} [{}] {:>5}  {}", label_, bar, percent(share), printable(stage)));
}

void ProgressBar::show(std::string_view stage) {
  draw(fmt::format("{} {} {}", label_, kSpinner[turns_++ % kSpinner.size()], printable(stage)));
}

void ProgressBar::draw(std::string line) {
  if (!terminal_.err_tty) return;
  line.erase(line.find_last_not_of(' ') + 1);
  line = shorten(line, terminal_.width - 1);
  if (line == shown_) return;
  terminal_.err << "\r\x1b[K" << line << std::flush;
  shown_ = std::move(line);
}

void ProgressBar::clear() {
  if (shown_.empty()) return;
  terminal_.err << "\r\x1b[K" << std::flush;
  shown_.clear();
}

}  // namespace corral::cli
