// Anthropic's messages as turns (dialects/turns.h): which block is what.
#pragma once

#include "dialects/turns.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/anthropic_fields.h"

namespace corral::dialects::anthropic {

// Writes elements of an array that `out` is in. The body has passed its table (protocol/anthropic_fields.h); views of
// it must live as long as this.
class Conversation {
 public:
  explicit Conversation(json::Writer& out) : turns_(out) {}

  void system(json::View prompt);  // a text or blocks; goes first
  void turn(json::View message);
  // Behind the last one. See Turns::end().
  Begun end() { return turns_.end(); }

 private:
  void system_turn(json::View content);
  void user_block(protocol::Block kind, json::View block);
  void assistant_block(protocol::Block kind, json::View block);
  void result(json::View block);

  // Adds what a block says.
  void add(protocol::Block kind, json::View block);
  void add_image(json::View source);
  void add_document(json::View block);

  Turns turns_;
};

}  // namespace corral::dialects::anthropic
