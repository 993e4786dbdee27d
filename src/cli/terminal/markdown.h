// Markdown that arrives in pieces, for a terminal: headings, lists, quotes, code and bold text, broken between words.
// Libraries want the whole text; an answer is read while it is made.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

#include "cli/terminal/word_wrap.h"

namespace corral::cli {

// What was printed doesn't change: a mark is held back until its meaning is known. One thread.
class Markdown {
 public:
  // `width` in columns; 0: nothing is broken. Without `styled`, marks are printed as they are.
  Markdown(std::ostream& out, std::size_t width, bool styled) : out_(out, width), styled_(styled) {}

  // Valid UTF-8 without control characters other than line ends and tabs; whole characters.
  void write(std::string_view text);
  void end();

 private:
  enum class Kind { unknown, text, heading, bullet, number, quote, fence, table };
  // Of the line that begins with head_. `whole`: the line ends there.
  Kind kind(bool whole) const;
  void begin_line(Kind kind);
  void end_line(bool more);
  void write_inline(std::string_view character);
  void end_marks(std::string_view next);
  // Between a mark and its end: text that is printed when the end has come, or the line has ended without it.
  void hold(std::string_view character);
  bool closes() const;
  void print_span();
  void give_up();
  void end_span();
  void write_characters(std::string_view text);
  void style(std::string_view code);

  WordWrap out_;
  const bool styled_;
  std::string fence_;      // that began the code block of this line
  std::string head_;       // a line of unknown kind
  bool in_line_ = false;   // its kind is known
  bool unbroken_ = false;  // code or a table
  bool heading_ = false;
  bool bold_ = false;
  std::string opening_;  // the mark before held_; empty: nothing is held
  std::string held_;
  std::string marks_;   // equal marks at the end of the text so far
  std::string before_;  // the character before them; empty: none in this line
};

}  // namespace corral::cli
