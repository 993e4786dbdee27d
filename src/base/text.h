// Letters and blanks of a text. Only the letters of ASCII have a case here: names are file names, and what is equal in
// one locale is equal in all. Safe on every thread.
#pragma once

#include <string>
#include <string_view>

namespace corral {

constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
bool equal_ignoring_case(std::string_view a, std::string_view b);

// The blanks of a line, of a line that may end with "\r\n", and of a text with several lines.
inline constexpr std::string_view kBlanksInLine = " \t";
inline constexpr std::string_view kBlanksOfLine = " \t\r";
inline constexpr std::string_view kBlanks = " \t\r\n";

// A part of `text`: without `blanks` at its beginning, at its end, or both.
std::string_view trimmed_front(std::string_view text, std::string_view blanks = kBlanks);
std::string_view trimmed_back(std::string_view text, std::string_view blanks = kBlanks);
std::string_view trimmed(std::string_view text, std::string_view blanks = kBlanks);

}  // namespace corral
