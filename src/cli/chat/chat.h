// A conversation with one model: keeps its messages, streams the answers to the terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cli/chat/chat_settings.h"
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

// A conversation as it is kept in a file.
struct ChatState {
  std::string model;
  std::string system;  // empty: none
  ChatSettings settings = {};
  std::vector<ChatMessage> messages = {};  // without the system text
};

class Chat {
 public:
  struct Parts {
    ServerApi& api;
    const Terminal& terminal;
    const Clock& clock;
  };
  Chat(Parts parts, ChatState state, bool verbose);

  // Prints the answer as it arrives and keeps both messages. After an interrupt the partial answer is kept; a prompt
  // without any answer is dropped. If the context is full, the oldest messages are dropped, with a note the first time.
  // Errors: those of ServerApi, and request_failed, also for a prompt that is too long alone: then nothing is
  // dropped.
  Result<> ask(ChatMessage prompt);
  // The prompt that the last ask() dropped.
  const std::optional<ChatMessage>& unanswered() const { return unanswered_; }
  // Takes the last prompt and what follows it out of the conversation. Empty: there is none.
  std::vector<ChatMessage> take_last();
  // Adds what take_last() returned.
  void put_back(std::vector<ChatMessage> messages);
  // Forgets everything but the system text and the settings.
  void clear();

  const ChatState& state() const { return state_; }
  // A conversation from a file.
  void restore(ChatState state);
  void set_model(std::string name) { state_.model = std::move(name); }
  void set_system(std::string text) { state_.system = std::move(text); }
  ChatSettings& settings() { return state_.settings; }
  // Whether numbers of tokens and their speed follow an answer.
  void set_verbose(bool verbose) { verbose_ = verbose; }

 private:
  struct Answer;
  // Sends the conversation and prints the answer. Errors: also context_length_exceeded of protocol.
  Result<> send(const std::vector<ChatMessage>& messages, Answer& answer);
  void take(Answer& answer, const protocol::AnswerPiece& piece) const;
  void show_numbers(const Answer& answer) const;

  ServerApi& api_;
  const Terminal& terminal_;
  const Clock& clock_;
  ChatState state_;
  std::optional<ChatMessage> unanswered_;
  bool verbose_;
  bool shortened_ = false;  // messages were dropped since the last clear()
};

}  // namespace corral::cli
