#include "cli/chat/dialogue.h"

#include <utility>

#include <fmt/format.h>

#include "base/close_names.h"
#include "base/text.h"
#include "cli/errors.h"

namespace corral::cli {
namespace {

constexpr std::string_view kFence = "\"\"\"";
constexpr std::string_view kFirstPrompt = ">>> ";
constexpr std::string_view kNextPrompt = "... ";

// "/set a b" is "/set" and "a b".
std::pair<std::string, std::string> split_command(const std::string& text) {
  const auto end = text.find_first_of(" \n");
  if (end == std::string::npos) return {text, ""};
  return {text.substr(0, end), std::string(trimmed(std::string_view(text).substr(end)))};
}

}  // namespace

Dialogue::Dialogue(CommandContext& context, Chat& chat, Options options)
    : context_(context), chat_(chat), options_(std::move(options)) {}

void Dialogue::print(std::string_view text) const { context_.terminal.err << text << std::flush; }

void Dialogue::report(const Error& error) {
  server_is_gone_ = error.code == errc::no_server || error.code == errc::bad_answer;
  print(fmt::format("error: {}\n", printable(error.message)));
}

void Dialogue::report(const Result<>& outcome, std::string_view done) {
  if (!outcome) return report(outcome.error());
  print(done);
}

Result<int> Dialogue::run(Draft draft) {
  draft_ = std::move(draft);
  print("Type a message, or /help.\n");
  while (!leaves_) {
    const InputLine input = read_message();
    if (input.kind == InputLine::Kind::line) {
      interrupts_in_a_row_ = 0;
      if (input.text.empty()) continue;
      if (options_.remember) context_.input.remember(input.text);
      answer(input.text);
      continue;
    }
    print("\n");
    if (input.kind == InputLine::Kind::end) break;
    if (!input.text.empty()) continue;  // only what was typed is dropped
    if (interrupts_in_a_row_++ > 0) return code_at_end(kExitInterrupted);
    print("(Ctrl-C once more, or /bye, to leave)\n");
  }
  return code_at_end(kExitOk);
}

// A line, or the lines between fences.
InputLine Dialogue::read_message() {
  // A file or pipe gets responses only.
  std::ostream& shown = context_.terminal.out_tty ? context_.terminal.out : context_.terminal.err;
  const auto ask_for = [&](std::string_view prompt) {
    return context_.input.read_message({prompt, shown, [this](std::string_view typed) { return complete(typed); }});
  };
  InputLine line = ask_for(kFirstPrompt);
  if (line.kind != InputLine::Kind::line || !line.text.starts_with(kFence)) return line;
  std::string text = line.text.substr(kFence.size());
  while (!text.ends_with(kFence)) {
    line = ask_for(kNextPrompt);
    // The text is dropped, the chat continues.
    if (line.kind != InputLine::Kind::line) return {InputLine::Kind::interrupted, std::string(kFence)};
    if (!text.empty()) text += '\n';
    text += line.text;
  }
  text.resize(text.size() - kFence.size());
  while (text.ends_with('\n')) text.pop_back();
  return {InputLine::Kind::line, std::move(text)};
}

std::vector<std::string> Dialogue::complete(std::string_view typed) const {
  std::vector<std::string> texts;
  if (!typed.starts_with('/')) return texts;
  for (const Command& command : commands()) {
    texts.push_back(fmt::format("{}{}", command.name, command.arguments.empty() ? "" : " "));
    if (command.words == nullptr) continue;
    for (const std::string& word : command.words(*this)) texts.push_back(fmt::format("{} {}", command.name, word));
  }
  // The words of a command only behind its name.
  if (typed.find(' ') == std::string_view::npos)
    std::erase_if(texts, [](const std::string& text) { return text.find(' ') < text.size() - 1; });
  return texts;
}

bool Dialogue::execute(const std::string& text) {
  const auto [name, arguments] = split_command(text);
  if (!name.starts_with('/') || name.find('/', 1) != std::string::npos) return false;
  for (const Command& command : commands()) {
    if (command.name != name && command.alias != name) continue;
    if (command.needs_arguments && arguments.empty()) {
      print(fmt::format("Usage: {} {}\n", command.name, command.arguments));
    } else {
      (this->*command.action)(arguments);
    }
    return true;
  }
  // "/x is a path" is a message.
  if (!arguments.empty()) return false;
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  const auto close = close_names(name, names, 1);
  print(fmt::format("Unknown command {}{}; see /help.\n", name,
                    close.empty() ? "" : fmt::format(" (did you mean {}?)", close.front())));
  return true;
}

void Dialogue::answer(const std::string& text) {
  if (execute(text)) return;
  Draft draft = std::exchange(draft_, {});
  const bool has_files = !draft.empty();
  ask({"user", draft.texts + text, std::move(draft.attachments)});
  if (has_files && chat_.unanswered()) print("(/retry sends the message again, with its files)\n");
}

void Dialogue::ask_again(std::vector<ChatMessage> last, ChatMessage message) {
  ask(std::move(message));
  if (chat_.unanswered()) chat_.put_back(std::move(last));
}

void Dialogue::ask(ChatMessage message) {
  const auto done = chat_.ask(std::move(message));
  server_is_gone_ = false;
  if (done) return;
  if (done.error().code == errc::interrupted) return print("(stopped)\n");
  report(done.error());
}

}  // namespace corral::cli
