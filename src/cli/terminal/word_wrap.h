// Text that arrives in pieces, broken between words at the width of a terminal.
#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>

namespace corral::cli {

// Holds back the last word until its end is known; end() prints it. One thread.
class WordWrap {
 public:
  // `width` in columns; 0: nothing is broken.
  WordWrap(std::ostream& out, std::size_t width) : out_(out), width_(width) {}

  // Valid UTF-8 without control characters other than line ends and tabs; whole characters.
  void write(std::string_view text);
  // A code that changes how text looks.
  void style(std::string_view code) { word_ += code; }
  // What follows up to the next line end is printed as it is: code, tables.
  void write_unbroken(std::string_view text);
  // Later lines of this paragraph begin with that many spaces.
  void indent(std::size_t columns) { indent_ = columns; }
  // Ends the current word.
  void end();

 private:
  void put_word();
  void put_line_end();

  std::ostream& out_;
  const std::size_t width_;
  std::size_t column_ = 0;  // of what is printed
  std::size_t spaces_ = 0;  // between that and the word
  std::size_t indent_ = 0;
  std::string word_;
  std::size_t word_width_ = 0;
  bool goes_on_ = false;  // the word's beginning is printed
};

}  // namespace corral::cli
