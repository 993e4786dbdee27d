// Replaces the model's name in an answer of a program: the client gets the name that it asked for, not the program's
// (often a path). Works on the bytes as they pass, in pieces of any size; the rest of the answer is unchanged.
#pragma once

#include <string>
#include <string_view>

#include "http/handler.h"

namespace corral::backends {

// Replaces the text of the outermost member "model" of an object, in a JSON text or in each event of a stream. Pure.
class NameReplacer {
 public:
  // `events`: a stream of server-sent events, else one JSON text.
  NameReplacer(bool events, std::string_view name);

  // The changed bytes. An unfinished name is held back, and missing at the end of a truncated answer.
  std::string pass(std::string_view bytes);

 private:
  enum class Part { outside, text, replaced };
  void next(char c, std::string& out);
  void begin_text(std::string& out);
  void end_text(std::string& out);

  const bool events_;
  const std::string name_;  // as JSON
  Part part_ = Part::outside;
  bool escaped_ = false;    // after a backslash in a text
  bool in_object_ = false;  // the outermost value is an object
  bool is_key_ = false;     // the next text, or the current one, is a key of it
  bool is_model_ = false;   // the next value is the model's name
  bool done_ = false;       // of one JSON text: the name was replaced
  std::size_t depth_ = 0;
  std::string key_;
};

// The answer with `name` as its model. Other types than JSON and events are unchanged, and errors.
http::Response named_answer(http::Response answer, std::string_view name);

}  // namespace corral::backends
