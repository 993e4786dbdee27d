// A conversation with one model: keeps its messages, streams the answers to the terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cli/server/reply_parser.h"
#include "cli/server/server_api.h"
#include "cli/terminal/terminal.h"
#include "protocol/answers/piece.h"
#include "protocol/errors.h"

namespace corral::cli {

// How many of the oldest messages after the system text to drop, so that the rest leaves room for an answer: whole
// exchanges, at least one, never the last message. 0: there is nothing to drop. `numbers`: of the refusal; nullptr:
// unknown. Estimates by the lengths of the messages. Pure.
std::size_t messages_to_drop(std::span<const ChatMessage> messages, const protocol::ContextNumbers* numbers);

class Chat {
 public:
  Chat(ServerApi& api, const Terminal& terminal, ChatOptions options, std::string system);

  // Prints the answer as it arrives and keeps both messages. After an interrupt the partial answer is kept; a prompt
  // without any answer is dropped. If the context is full, the oldest messages are dropped, with a note the first time.
  // Errors: those of ServerApi, and request_failed, also for a prompt that is too long alone: then nothing is
  // dropped.
  Result<> ask(const std::string& prompt);
  // Forgets everything but the system text.
  void clear();
  const std::vector<ChatMessage>& messages() const { return messages_; }

 private:
  struct Answer;
  // Sends the conversation and prints the answer. Errors: also context_length_exceeded of protocol.
  Result<> send(const std::vector<ChatMessage>& messages, Answer& answer);
  void show(Answer& answer, const protocol::ChoicePiece& piece) const;

  ServerApi& api_;
  const Terminal& terminal_;
  const ChatOptions options_;
  const std::string system_;
  std::vector<ChatMessage> messages_;
  bool shortened_ = false;  // messages were dropped since the last clear()
};

}  // namespace corral::cli
