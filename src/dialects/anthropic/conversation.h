// Converts Anthropic's messages, block by block, to turns (dialects/turns.h).
#pragma once

#include <deque>

#include "dialects/turns.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/anthropic/anthropic_fields.h"

namespace corral::dialects::anthropic {

// Writes elements of the open array of `out`. The body has passed its table (protocol/anthropic/anthropic_fields.h);
// its views must live as long as this.
class Conversation {
 public:
  explicit Conversation(json::Writer& out) : turns_(out) {}

  void system(json::View prompt);  // a text or blocks; call it first for the system prompt
  void turn(json::View message);
  // After the last turn. See Turns::end().
  Begun end() { return turns_.end(); }

 private:
  void system_text(json::View text);
  void user_block(protocol::Block kind, json::View block);
  void assistant_block(protocol::Block kind, json::View block);
  void result(json::View block);

  // Adds the content of a block.
  void add(protocol::Block kind, json::View block);
  void add_image(json::View source);
  void add_document(json::View block);

  Turns turns_;
  std::deque<json::Peek> texts_;  // system texts without a line; turns refer to them
};

}  // namespace corral::dialects::anthropic
