#include "cli/terminal/chat.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/errors.h"

namespace corral::cli {

struct Chat::Answer {
  std::string text;
  std::string finish_reason;
  std::optional<std::string> failure;
  bool thinking = false;      // the current output is reasoning
  bool at_line_start = true;  // nothing printed since the last line end
  bool done = false;
};

Chat::Chat(ServerApi& api, const Terminal& terminal, ChatOptions options, std::string system)
    : api_(api), terminal_(terminal), options_(std::move(options)), system_(std::move(system)) {
  clear();
}

void Chat::clear() {
  messages_.clear();
  if (!system_.empty()) messages_.push_back({"system", system_});
}

void Chat::show(Answer& answer, const protocol::ChoicePiece& piece) const {
  std::ostream& out = terminal_.out;
  const auto print = [&](const std::string& text) {
    // A pipe gets the model's exact text.
    out << (terminal_.out_tty ? printable(text) : text);
    answer.at_line_start = text.ends_with('\n');
  };
  // Reasoning is shown only on terminals; it isn't part of the result.
  if (!piece.reasoning.empty() && terminal_.out_tty) {
    if (terminal_.colour && !answer.thinking) out << "\x1b[2m";
    answer.thinking = true;
    print(piece.reasoning);
  }
  if (!piece.content.empty()) {
    if (std::exchange(answer.thinking, false)) out << (terminal_.colour ? "\x1b[0m" : "") << "\n\n";
    print(piece.content);
    answer.text += piece.content;
  }
  if (!piece.finish_reason.empty()) answer.finish_reason = piece.finish_reason;
  out << std::flush;
}

Result<> Chat::ask(const std::string& prompt) {
  messages_.push_back({"user", prompt});
  Answer answer;
  const auto on_event = [&](std::string_view event, std::string_view data) {
    if (data == "[DONE]") {
      answer.done = true;
    } else if (event == "error") {
      answer.failure = error_in(data).value_or(std::string(data));
    } else if (const auto piece = protocol::read_answer(std::string(data))) {
      if (piece->failure) answer.failure = piece->failure->message;
      if (!piece->choices.empty()) show(answer, piece->choices.front());
    }
  };
  const std::string body = chat_body(options_, messages_, true);
  auto reply = api_.stream(ApiRequest::post("/api/v1/chat/completions", body), on_event);
  if (reply && reply->status < 400 && !reply->body.empty()) {  // answered without streaming
    answer.done = true;
    const auto piece = protocol::read_answer(reply->body);
    if (piece && !piece->choices.empty()) show(answer, piece->choices.front());
  }
  if (answer.thinking && terminal_.colour) terminal_.out << "\x1b[0m";
  if (!answer.at_line_start) terminal_.out << '\n';
  terminal_.out << std::flush;

  Result<> outcome;
  if (!reply) {
    outcome = std::unexpected(reply.error());
  } else if (reply->status >= 400) {
    outcome = std::unexpected(refusal(api_, *reply));
  } else if (answer.failure) {
    outcome = fail(errc::request_failed, *answer.failure);
  } else if (!answer.done) {
    outcome = fail(errc::bad_answer, fmt::format("{} closed the connection during the response", api_.url()));
  }
  // An empty answer is kept, too, if there was no error.
  if (outcome || !answer.text.empty()) {
    messages_.push_back({"assistant", answer.text});
  } else {
    messages_.pop_back();
  }
  if (!outcome) return outcome;
  if (answer.finish_reason == "length" && terminal_.out_tty) {
    terminal_.err << terminal_.paint(Style::dim, "(stopped at the token limit)") << '\n';
  }
  return outcome;
}

}  // namespace corral::cli
