#include "cli/chat/chat.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/chat/answer_printer.h"
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

void print_note(const Terminal& terminal, std::string_view text) {
  terminal.err << (terminal.err_tty ? terminal.paint(Style::dim, text) : std::string(text)) << '\n';
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
  AnswerPrinter printer;
  MonoTime asked;
  std::string text{};
  std::string finish_reason{};
  std::optional<Error> failure{};
  std::optional<MonoTime> first{};  // its first text
  std::optional<protocol::Usage> usage{};
  std::optional<protocol::Timings> timings{};
  bool done = false;
};

Chat::Chat(Parts parts, ChatState state, bool verbose)
    : api_(parts.api), terminal_(parts.terminal), clock_(parts.clock), state_(std::move(state)), verbose_(verbose) {}

void Chat::clear() {
  state_.messages.clear();
  unanswered_.reset();
  shortened_ = false;
}

void Chat::restore(ChatState state) {
  state_ = std::move(state);
  unanswered_.reset();
  shortened_ = false;
}

std::vector<ChatMessage> Chat::take_last() {
  auto& messages = state_.messages;
  const auto last = std::ranges::find(messages.rbegin(), messages.rend(), "user", &ChatMessage::role);
  if (last == messages.rend()) return {};
  const auto begin = std::prev(last.base());
  std::vector<ChatMessage> taken(std::make_move_iterator(begin), std::make_move_iterator(messages.end()));
  messages.erase(begin, messages.end());
  return taken;
}

void Chat::put_back(std::vector<ChatMessage> messages) {
  std::ranges::move(messages, std::back_inserter(state_.messages));
}

void Chat::take(Answer& answer, const protocol::AnswerPiece& piece) const {
  if (piece.failure) answer.failure = piece.failure;
  if (piece.usage) answer.usage = piece.usage;
  if (piece.timings) answer.timings = piece.timings;
  if (piece.choices.empty()) return;
  const protocol::ChoicePiece& choice = piece.choices.front();
  if (!answer.first && !(choice.reasoning.empty() && choice.content.empty())) answer.first = clock_.now();
  answer.printer.reasoning(choice.reasoning);
  answer.printer.content(choice.content);
  answer.text += choice.content;
  if (!choice.finish_reason.empty()) answer.finish_reason = choice.finish_reason;
}

Result<> Chat::send(const std::vector<ChatMessage>& messages, Answer& answer) {
  const auto on_event = [&](std::string_view event, std::string_view data) {
    if (data == "[DONE]") {
      answer.done = true;
    } else if (event == "error") {
      answer.failure = {errc::request_failed, error_in(data).value_or(std::string(data))};
    } else if (const auto piece = protocol::read_answer(std::string(data))) {
      take(answer, *piece);
    }
  };
  ChatOptions options{state_.model, state_.settings.fields()};
  if (verbose_) options.fields.emplace_back("stream_options", R"({"include_usage":true})");
  auto reply = api_.stream(ApiRequest::post("/api/v1/chat/completions", chat_body(options, messages, true)), on_event);
  if (reply && reply->status < 400 && !reply->body.empty()) {  // answered without streaming
    answer.done = true;
    if (const auto piece = protocol::read_answer(reply->body)) take(answer, *piece);
  }
  answer.printer.end();

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

void Chat::show_numbers(const Answer& answer) const {
  std::string text;
  if (answer.usage) {
    text = fmt::format("{} prompt tokens ({} of them cached), {} tokens", answer.usage->prompt_tokens,
                       answer.usage->cached_tokens, answer.usage->completion_tokens);
  }
  if (answer.timings && answer.timings->predicted_ms > 0 && answer.timings->predicted_n > 1) {
    // The time is that from the first token to the last.
    const double rate = (answer.timings->predicted_n - 1) * 1000.0 / answer.timings->predicted_ms;
    text += fmt::format("{}{:.1f} tokens/s", text.empty() ? "" : ", ", rate);
  }
  if (answer.first) {
    const std::chrono::duration<double> wait = *answer.first - answer.asked;
    text += fmt::format("{}first token after {:.2f} s", text.empty() ? "" : ", ", wait.count());
  }
  if (!text.empty()) print_note(terminal_, text);
}

Result<> Chat::ask(ChatMessage prompt) {
  unanswered_.reset();
  std::vector<ChatMessage> messages;
  if (!state_.system.empty()) messages.push_back({"system", state_.system});
  const auto begin = static_cast<std::ptrdiff_t>(messages.size());
  messages.insert(messages.end(), state_.messages.begin(), state_.messages.end());
  messages.push_back(std::move(prompt));
  std::optional<Answer> answer;
  const bool is_data =
      std::ranges::any_of(state_.settings.fields(), [](const auto& field) { return field.first == "response_format"; });
  const auto send_all = [&] {
    answer.emplace(AnswerPrinter(terminal_, is_data), clock_.now());
    return send(messages, *answer);
  };
  auto outcome = send_all();
  bool dropped = false;
  while (is_too_long(outcome) && answer->text.empty()) {
    const Error error = outcome.error();
    const auto count = messages_to_drop(messages, error.fact<protocol::ContextNumbers>());
    if (count == 0) {
      unanswered_ = std::move(messages.back());
      return fail(errc::request_failed, fmt::format("the message is too long: {}", error.message));
    }
    const auto first = messages.begin() + begin;
    messages.erase(first, first + static_cast<std::ptrdiff_t>(count));
    dropped = true;
    outcome = send_all();
  }
  // An empty answer is kept, too, if there was no error.
  if (!outcome && answer->text.empty()) {
    unanswered_ = std::move(messages.back());
    return outcome;
  }
  messages.push_back({"assistant", answer->text});
  state_.messages.assign(std::make_move_iterator(messages.begin() + begin), std::make_move_iterator(messages.end()));
  if (dropped && !std::exchange(shortened_, true))
    print_note(terminal_, "(the context is full: from now on the oldest messages are dropped)");
  if (outcome && answer->finish_reason == "length" && terminal_.out_tty)
    print_note(terminal_, "(stopped at the token limit)");
  if (verbose_) show_numbers(*answer);
  return outcome;
}

}  // namespace corral::cli
