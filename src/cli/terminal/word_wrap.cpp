#include "cli/terminal/word_wrap.h"

#include <utility>

#include "base/utf8.h"
#include "cli/terminal/terminal.h"

namespace corral::cli {

void WordWrap::put_line_end() {
  out_ << '\n';
  column_ = spaces_ = 0;
  goes_on_ = false;
}

void WordWrap::put_word() {
  if (word_width_ > 0) {
    // A word that fills lines is broken by the terminal, so that a copy of it is whole.
    if (width_ > 0 && !goes_on_ && column_ > indent_ && column_ + spaces_ + word_width_ > width_) {
      put_line_end();
      spaces_ = indent_;
    }
    out_ << std::string(spaces_, ' ');
    column_ += std::exchange(spaces_, 0) + std::exchange(word_width_, 0);
  }
  out_ << std::exchange(word_, {});
}

void WordWrap::write(std::string_view text) {
  while (!text.empty()) {
    const std::string_view one = text.substr(0, utf8_step(text).length);
    text.remove_prefix(one.size());
    if (one == "\n") {
      put_word();
      put_line_end();
      indent_ = 0;
    } else if (one == " ") {
      put_word();
      ++spaces_;
      goes_on_ = false;
    } else {
      const std::size_t width = one == "\t" ? 1 : display_width(one);
      // Scripts without spaces have wide characters, and may be broken between any two.
      const bool full = word_width_ > 0 && word_width_ + width > width_;
      if (width > 1 || full) put_word();
      goes_on_ = width == 1 && (goes_on_ || full);
      word_ += one;
      word_width_ += width;
      if (width > 1) put_word();
    }
  }
}

void WordWrap::write_unbroken(std::string_view text) {
  put_word();
  if (text.empty()) return;
  out_ << std::string(std::exchange(spaces_, 0), ' ') << text;
  const auto end = text.rfind('\n');
  column_ = end == std::string_view::npos ? column_ + display_width(text) : display_width(text.substr(end + 1));
}

void WordWrap::end() { put_word(); }

}  // namespace corral::cli
