// The commands of a chat: their table, for /help and the Tab key, and what they do.
#include <array>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/chat/dialogue.h"
#include "cli/chat/text_editor.h"
#include "cli/errors.h"

namespace corral::cli {
namespace {

using Words = std::vector<std::string>;

constexpr std::string_view kHelpOfKeys =
    "\"\"\"                    starts and ends a text of several lines (also Alt-Enter, and pasted lines)\n"
    "Ctrl-C                 stops a response; at the prompt, a second one leaves\n"
    "Up, Ctrl-R             earlier messages, a search in them\n";

constexpr std::array<std::string_view, 4> kShown = {"info", "parameters", "system", "template"};

// "temperature 0.5" is "temperature" and "0.5".
std::pair<std::string, std::string> split_setting(const std::string& text) {
  const auto end = text.find(' ');
  if (end == std::string::npos) return {text, ""};
  const auto begin = text.find_first_not_of(' ', end);
  return {text.substr(0, end), begin == std::string::npos ? "" : text.substr(begin)};
}

Words set_words(const Dialogue&) {
  Words words = {"system ", "format ", "verbose", "quiet", "think", "nothink"};
  for (const std::string& name : settable_fields()) words.push_back(name + ' ');
  return words;
}
Words show_words(const Dialogue&) { return {kShown.begin(), kShown.end()}; }
Words unset_words(const Dialogue&) {
  Words words = settable_fields();
  words.insert(words.begin(), {"system", "format"});
  return words;
}

}  // namespace

std::span<const Dialogue::Command> Dialogue::commands() {
  static constexpr std::array<Command, 13> kCommands = {{
      {"/set", "NAME VALUE", "set an option of requests; system, format, verbose, think", &Dialogue::set, true,
       &set_words},
      {"/unset", "NAME", "back to the default of an option", &Dialogue::unset, true, &unset_words},
      {"/show", "[WHAT]", "show the model: info, parameters, system, template", &Dialogue::show, false, &show_words},
      {"/model", "NAME", "continue with another model", &Dialogue::model, true},
      {"/file", "FILE", "attach a text, picture or sound to the next message", &Dialogue::file, true},
      {"/image", "FILE", "attach a picture to the next message", &Dialogue::image, true},
      {"/retry", "", "ask the last message again", &Dialogue::retry},
      {"/edit", "", "change the last message in $EDITOR, and ask again", &Dialogue::edit},
      {"/save", "NAME", "save the conversation", &Dialogue::save, true},
      {"/load", "NAME", "continue a saved conversation", &Dialogue::load},
      {"/clear", "", "clear the conversation", &Dialogue::clear},
      {"/help", "", "this list", &Dialogue::help, false, nullptr, "/?"},
      {"/bye", "", "leave (also Ctrl-D)", &Dialogue::bye},
  }};
  return kCommands;
}

void Dialogue::help(const std::string&) {
  std::string text;
  for (const Command& command : commands())
    text += fmt::format("{:<22} {}\n", fmt::format("{} {}", command.name, command.arguments), command.about);
  print(text + std::string(kHelpOfKeys));
}

void Dialogue::clear(const std::string&) {
  chat_.clear();
  draft_ = {};
  print("The conversation is cleared.\n");
}

void Dialogue::attach_file(const std::string& file, Result<> (*add)(const std::string&, Draft&)) {
  report(add(file, draft_), "It goes with the next message.\n");
}

void Dialogue::retry(const std::string&) {
  if (const auto failed = chat_.unanswered()) return ask(*failed);
  auto last = chat_.take_last();
  if (last.empty()) return print("There is no message yet.\n");
  ChatMessage message = last.front();
  ask_again(std::move(last), std::move(message));
}

// Without a message, a new one.
void Dialogue::edit(const std::string&) {
  const auto failed = chat_.unanswered();
  auto last = failed ? std::vector<ChatMessage>() : chat_.take_last();
  ChatMessage message = failed ? *failed : last.empty() ? ChatMessage{"user", ""} : last.front();
  auto text = edit_text(message.content, context_.inputs.environment);
  if (!text) report(text.error());
  if (!text || text->empty() || *text == message.content) return chat_.put_back(std::move(last));
  if (options_.remember) context_.input.remember(*text);
  print(printable(*text) + '\n');
  if (last.empty() && !failed) return answer(*text);
  message.content = std::move(*text);
  ask_again(std::move(last), std::move(message));
}

void Dialogue::save(const std::string& name) {
  report(options_.saved.save(name, chat_.state()), fmt::format("Saved; /load {} continues it.\n", name));
}

void Dialogue::load(const std::string& name) {
  if (name.empty()) {
    const auto names = options_.saved.names();
    return print(names.empty() ? "No conversation is saved yet.\n"
                               : printable(fmt::format("Saved: {}\n", fmt::join(names, ", "))));
  }
  auto saved = options_.saved.load(name);
  if (!saved) return report(saved.error());
  if (saved->model != chat_.state().model) {
    const auto ready = options_.make_ready(saved->model);
    if (!ready) return report(ready.error());
    saved->model = *ready;
  }
  const auto count = saved->messages.size();
  chat_.restore(std::move(*saved));
  print(printable(fmt::format("{} messages with {}.\n", count, chat_.state().model)));
}

void Dialogue::model(const std::string& name) {
  auto ready = options_.make_ready(name);
  if (!ready) return report(ready.error());
  server_is_gone_ = false;
  chat_.set_model(*ready);
  print(printable(fmt::format("The conversation continues with {}.\n", *ready)));
}

void Dialogue::set(const std::string& arguments) {
  auto [name, value] = split_setting(arguments);
  if (name == "parameter") std::tie(name, value) = split_setting(std::string(value));  // as in Ollama
  if (name == "verbose" || name == "quiet") {
    chat_.set_verbose(name == "verbose");
    return print(name == "verbose" ? "Numbers of tokens follow each response.\n" : "Only responses are shown.\n");
  }
  if (name == "think" || name == "nothink")
    return report(chat_.settings().set("enable_thinking", name == "think" ? "true" : "false"),
                  fmt::format("Thinking is {}.\n", name == "think" ? "on" : "off"));
  if (value.empty()) return print("Usage: /set NAME VALUE\n");
  if (name == "system") {
    chat_.set_system(value);
    return print("The system text is set.\n");
  }
  if (name == "format") return report(chat_.settings().set_format(value), "The format is set.\n");
  report(chat_.settings().set(name, value), fmt::format("{} is {}.\n", name, value));
}

void Dialogue::unset(const std::string& name) {
  if (name == "system") {
    chat_.set_system("");
    return print("There is no system text.\n");
  }
  const bool was_set = chat_.settings().unset(name == "format" ? "response_format" : name);
  print(was_set ? fmt::format("{} has its default.\n", name) : fmt::format("{} wasn't set.\n", name));
}

void Dialogue::show(const std::string& what) {
  const ChatState& state = chat_.state();
  if (what.empty() || what == "info") return report(options_.show_model(state.model, false), "");
  if (what == "template") return report(options_.show_model(state.model, true), "");
  if (what == "system")
    return print(state.system.empty() ? "There is no system text.\n" : printable(state.system) + '\n');
  if (what != "parameters") return print(fmt::format("There is no '{}': {}\n", what, fmt::join(kShown, ", ")));
  if (state.settings.fields().empty()) return print("Every option has its default.\n");
  for (const auto& [name, value] : state.settings.fields()) print(printable(fmt::format("{:<24} {}\n", name, value)));
}

}  // namespace corral::cli
