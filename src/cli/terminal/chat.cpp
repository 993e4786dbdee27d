#include "cli/terminal/chat.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/errors.h"
#include "protocol/errors.h"
#include "protocol/http_error.h"

namespace corral::cli {
namespace {

// Share of the context for the messages of a shortened conversation; the rest is for the answer.
constexpr double kMessageShare = 0.75;

bool is_too_long(const Result<>& outcome) {
  return !outcome && outcome.error().code == protocol::errc::context_length_exceeded;
}

}  // namespace

std::size_t messages_to_drop(std::span<const ChatMessage> messages, const protocol::ContextNumbers* numbers) {
  const std::size_t first = !messages.empty() && messages.front().role == "system" ? 1 : 0;
  double size = 0;
  for (const auto& message : messages) size += static_cast<double>(message.content.size());
  // Without numbers one exchange is dropped.
  double fits = size;
  if (numbers != nullptr && numbers->n_prompt_tokens > 0) {
    fits *= kMessageShare * static_cast<double>(numbers->n_ctx) / static_cast<double>(numbers->n_prompt_tokens);
  }
  std::size_t end = first;
  while (end + 1 < messages.size() && (end == first || messages[end].role != "user" || size > fits))
    size -= static_cast<double>(messages[end++].content.size());
  return end - first;
}

struct Chat::Answer {
  std::string text;
  std::string finish_reason;
  std::optional<Error> failure;
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
  shortened_ = false;
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

Result<> Chat::send(const std::vector<ChatMessage>& messages, Answer& answer) {
  const auto on_event = [&](std::string_view event, std::string_view data) {
    if (data == "[DONE]") {
      answer.done = true;
    } else if (event == "error") {
      answer.failure = {errc::request_failed, error_in(data).value_or(std::string(data))};
    } else if (const auto piece = protocol::read_answer(std::string(data))) {
      if (piece->failure) answer.failure = piece->failure;
      if (!piece->choices.empty()) show(answer, piece->choices.front());
    }
  };
  const std::string body = chat_body(options_, messages, true);
  auto reply = api_.stream(ApiRequest::post("/api/v1/chat/completions", body), on_event);
  if (reply && reply->status < 400 && !reply->body.empty()) {  // answered without streaming
    answer.done = true;
    const auto piece = protocol::read_answer(reply->body);
    if (piece && !piece->choices.empty()) show(answer, piece->choices.front());
  }
  if (answer.thinking && terminal_.colour) terminal_.out << "\x1b[0m";
  if (!answer.at_line_start) terminal_.out << '\n';
  terminal_.out << std::flush;

  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 400) {
    auto error = protocol::parse_error_body(reply->status, reply->body);
    const bool too_long = error.code == protocol::errc::context_length_exceeded;
    return std::unexpected(too_long ? std::move(error) : refusal(api_, *reply));
  }
  if (answer.failure) {
    const bool too_long = answer.failure->code == protocol::errc::context_length_exceeded;
    return std::unexpected(too_long ? *answer.failure : Error(errc::request_failed, answer.failure->message));
  }
  if (!answer.done)
    return fail(errc::bad_answer, fmt::format("{} closed the connection during the response", api_.url()));
  return {};
}

Result<> Chat::ask(const std::string& prompt) {
  auto messages = messages_;
  messages.push_back({"user", prompt});
  Answer answer;
  auto outcome = send(messages, answer);
  bool dropped = false;
  while (is_too_long(outcome) && answer.text.empty()) {
    const Error error = outcome.error();
    const auto count = messages_to_drop(messages, error.fact<protocol::ContextNumbers>());
    if (count == 0) return fail(errc::request_failed, fmt::format("the message is too long: {}", error.message));
    const auto first = messages.begin() + (system_.empty() ? 0 : 1);
    messages.erase(first, first + static_cast<std::ptrdiff_t>(count));
    dropped = true;
    answer = {};
    outcome = send(messages, answer);
  }
  // An empty answer is kept, too, if there was no error.
  if (!outcome && answer.text.empty()) return outcome;
  messages_ = std::move(messages);
  messages_.push_back({"assistant", answer.text});
  if (dropped && !std::exchange(shortened_, true)) {
    constexpr auto* kNote = "(the context is full: from now on the oldest messages are dropped)";
    terminal_.err << terminal_.paint(Style::dim, kNote) << '\n';
  }
  if (outcome && answer.finish_reason == "length" && terminal_.out_tty) {
    terminal_.err << terminal_.paint(Style::dim, "(stopped at the token limit)") << '\n';
  }
  return outcome;
}

}  // namespace corral::cli
