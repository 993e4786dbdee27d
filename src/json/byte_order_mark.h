// Some programs begin a text with a byte order mark, which is invalid in JSON and irrelevant for UTF-8.
#pragma once

#include <string>

namespace corral::json {

inline std::string without_byte_order_mark(std::string text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

}  // namespace corral::json
