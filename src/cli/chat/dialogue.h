// A chat with a person at a terminal: messages, and commands that begin with "/".
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/chat/attachments.h"
#include "cli/chat/chat.h"
#include "cli/chat/saved_chats.h"
#include "cli/commands/command.h"
#include "cli/errors.h"

namespace corral::cli {

class Dialogue {
 public:
  struct Options {
    SavedChats saved;
    bool remember = true;  // messages, for later chats
    // Makes a model ready and returns its name.
    std::function<Result<std::string>(const std::string&)> make_ready;
    // Prints what `corral show` prints.
    std::function<Result<>(const std::string& model, bool only_template)> show_model;
  };
  // Both must outlive it.
  Dialogue(CommandContext& context, Chat& chat, Options options);

  // Until the user leaves. `draft`: goes with the first message. Returns the exit code: kExitNoServer if the server was
  // gone at the end.
  Result<int> run(Draft draft);

 private:
  struct Command {
    std::string_view name;
    std::string_view arguments;  // "FILE"
    std::string_view about;
    void (Dialogue::*action)(const std::string& arguments);
    bool needs_arguments = false;
    std::vector<std::string> (*words)(const Dialogue&) = nullptr;  // for the Tab key, behind the name
    std::string_view alias = {};
  };
  static std::span<const Command> commands();

  InputLine read_message();
  void answer(const std::string& text);
  void ask(ChatMessage message);
  // Instead of the last exchange, which stays if there is no answer.
  void ask_again(std::vector<ChatMessage> last, ChatMessage message);
  // False: the text is no command.
  bool execute(const std::string& text);
  std::vector<std::string> complete(std::string_view typed) const;

  void print(std::string_view text) const;
  void report(const Error& error);
  // Prints the error, or else `done`.
  void report(const Result<>& outcome, std::string_view done);
  int code_at_end(int code) const { return code == kExitOk && server_is_gone_ ? kExitNoServer : code; }

  void attach_file(const std::string& file, Result<> (*add)(const std::string&, Draft&));
  void bye(const std::string&) { leaves_ = true; }
  void clear(const std::string&);
  void edit(const std::string&);
  void file(const std::string& name) { attach_file(name, &attach); }
  void help(const std::string&);
  void image(const std::string& name) { attach_file(name, &attach_picture); }
  void load(const std::string& name);
  void model(const std::string& name);
  void retry(const std::string&);
  void save(const std::string& name);
  void set(const std::string& arguments);
  void show(const std::string& what);
  void unset(const std::string& name);

  CommandContext& context_;
  Chat& chat_;
  const Options options_;
  Draft draft_;  // of the next message
  int interrupts_in_a_row_ = 0;
  bool server_is_gone_ = false;
  bool leaves_ = false;
};

}  // namespace corral::cli
