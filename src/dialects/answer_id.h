// Ids of answers. Pure.
#pragma once

#include <string>
#include <string_view>

namespace corral::dialects {

// The part of an id that differs: "x" of "chatcmpl-x" and "req-x".
inline std::string_view own_part(std::string_view id) {
  const auto dash = id.find('-');
  return dash == std::string_view::npos ? id : id.substr(dash + 1);
}

// "msg_x"
inline std::string answer_id(std::string_view kind, std::string_view id) {
  return std::string(kind).append("_").append(own_part(id));
}

}  // namespace corral::dialects
