// A conversation with one model: keeps its messages, streams the answers to the terminal.
#pragma once

#include <string>
#include <vector>

#include "cli/server/reply_parser.h"
#include "cli/server/server_api.h"
#include "cli/terminal/terminal.h"
#include "protocol/answers/piece.h"

namespace corral::cli {

class Chat {
 public:
  Chat(ServerApi& api, const Terminal& terminal, ChatOptions options, std::string system);

  // Prints the answer as it arrives and keeps both messages. After an interrupt the partial answer is kept; a prompt
  // without any answer is dropped. Errors: those of ServerApi, and request_failed.
  Result<> ask(const std::string& prompt);
  // Forgets everything but the system text.
  void clear();
  const std::vector<ChatMessage>& messages() const { return messages_; }

 private:
  struct Answer;
  void show(Answer& answer, const protocol::ChoicePiece& piece) const;

  ServerApi& api_;
  const Terminal& terminal_;
  const ChatOptions options_;
  const std::string system_;
  std::vector<ChatMessage> messages_;
};

}  // namespace corral::cli
