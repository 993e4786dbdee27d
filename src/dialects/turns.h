// Messages as chat templates want them, of what a client's own kinds of blocks and items say. Templates are strict: one
// system message and that in front, nobody speaks twice in a row, results behind their calls. So
//
//   - what one role says in a row is one message, each text on a line of its own; thoughts and calls stand beside it;
//   - what the system says amid the conversation is a text of the user's, marked as what it is (<system-reminder>);
//   - each result of a tool is a message, in front of what the user said since the calls.
//
// Knows no dialect: views are of whatever body, which has passed its table and lives as long as this.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialects/dialect.h"
#include "json/peek.h"
#include "json/writer.h"

namespace corral::dialects {

class Turns {
 public:
  // Writes elements of an array that `out` is in.
  explicit Turns(json::Writer& out) : out_(out) {}

  // Who speaks from here on. The system's turn is none without a text; the others' may be empty.
  void system();
  void user();
  void assistant();

  // Of whoever speaks. Texts are JSON strings; empty ones are nothing.
  void text(json::View text);
  void image(json::View url);
  void image(json::View media_type, json::View base64);
  // The assistant's.
  void thought(json::View text);
  // `id`: a JSON string; `arguments`: the text of an object.
  void call(json::View id, std::string_view name, std::string_view arguments);
  // What came of a call: `fill` adds its texts and images. `id`: null where nobody knows. `in_front`: of the texts.
  void result(json::View id, std::string_view in_front, std::invocable auto&& fill) {
    auto waiting = begin_result();
    fill();
    end_result(id, in_front, std::move(waiting));
  }

  // Behind the last one. What is told of an answer that was begun, which is to be gone on with: none where the user has
  // the last word. One that says nothing is left out.
  Begun end();

 private:
  enum class Role { none, system, user, assistant };
  struct Part {
    enum class Kind { text, reminder, url, base64 } kind;
    json::View view;
    json::View type = {};  // of what is in base64
    bool picture() const { return kind == Kind::url || kind == Kind::base64; }
  };

  void open(Role role);
  void close();
  std::vector<Part> begin_result();
  void end_result(json::View id, std::string_view in_front, std::vector<Part> waiting);
  static void append_text(std::string& out, const Part& part);
  static void write_picture(json::Writer& out, const Part& part);
  // The content of a message, of the parts there are.
  std::string content(std::string_view in_front = {}) const;

  json::Writer& out_;
  bool conversing_ = false;  // somebody else than the system has had a turn
  bool reminding_ = false;   // the system speaks amid the conversation
  // The message under way.
  Role role_ = Role::none;
  std::vector<Part> parts_;
  std::vector<json::View> thoughts_;
  std::string calls_;  // JSON, without the brackets around them
};

}  // namespace corral::dialects
