// Builds messages for chat templates from blocks and items of the client's API. Templates are strict: one system
// message at the beginning, no two messages of the same role in a row, tool results after their calls. Therefore
//
//   - texts of one role in a row are one message, each text on its own line; thoughts and calls are its members;
//   - system text within the conversation becomes a text of the user, marked with <system-reminder>;
//   - each tool result is a message, before the user's texts since the calls.
//
// Independent of dialects: views are of any body that has passed its table and lives as long as this.
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
  // Writes elements of the open array of `out`.
  explicit Turns(json::Writer& out) : out_(out) {}

  // The role of the following content. A system turn without a text is dropped; the others may be empty.
  void system();
  void user();
  void assistant();

  // Content of the current role. Texts are JSON strings; empty ones are dropped.
  void text(json::View text);
  void image(json::View url);
  void image(json::View media_type, json::View base64);
  // The object of a part `input_audio`.
  void sound(json::View sound);
  // The assistant's.
  void thought(json::View text);
  // `id`: a JSON string; `arguments`: the text of an object.
  void call(json::View id, std::string_view name, std::string_view arguments);
  // The result of a call: `fill` adds its texts and images. `id`: null if unknown. `in_front`: prefix of the texts.
  void result(json::View id, std::string_view in_front, std::invocable auto&& fill) {
    auto waiting = begin_result();
    fill();
    end_result(id, in_front, std::move(waiting));
  }

  // After the last turn. Returns the beginning of the answer to continue; empty if the user's turn is last. An empty
  // beginning is dropped.
  Begun end();

 private:
  enum class Role { none, system, user, assistant };
  struct Part {
    enum class Kind { text, reminder, url, base64, sound } kind;
    json::View view;
    json::View type = {};  // of base64 data
    bool is_text() const { return kind == Kind::text || kind == Kind::reminder; }
  };

  void open(Role role);
  void close();
  std::vector<Part> begin_result();
  void end_result(json::View id, std::string_view in_front, std::vector<Part> waiting);
  static void append_text(std::string& out, const Part& part);
  static void write_media(json::Writer& out, const Part& part);
  // The content of a message from its parts.
  std::string content(std::string_view in_front = {}) const;

  json::Writer& out_;
  bool conversing_ = false;  // a role other than the system has had a turn
  bool reminding_ = false;   // system text within the conversation
  // The current message.
  Role role_ = Role::none;
  std::vector<Part> parts_;
  std::vector<json::View> thoughts_;
  std::string calls_;  // JSON, without the brackets around them
};

}  // namespace corral::dialects
