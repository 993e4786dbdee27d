#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/loading.h"
#include "cli/offers.h"
#include "cli/pulling.h"
#include "cli/starting.h"
#include "cli/terminal/chat.h"

namespace corral::cli {
namespace {

constexpr std::string_view kFence = "\"\"\"";
constexpr std::string_view kHelp =
    "/bye     leave (also Ctrl-D)\n/clear   clear the conversation\n/help    this list\n\"\"\"      starts and ends a "
    "text of several lines\nCtrl-C   stops a response; at the prompt, a second one leaves\n";

struct RunOptions {
  std::string model;
  std::vector<std::string> prompt;
  std::string system;
  std::optional<std::int64_t> ctx_size;
  std::optional<std::int64_t> max_tokens;
  std::optional<double> temperature;
  std::optional<std::int64_t> seed;
  bool yes = false;
  bool start = false;

  ChatOptions chat() const { return {model, max_tokens, temperature, seed}; }
  LoadRequest load() const {
    LoadRequest options{model};
    options.values.ctx_size = ctx_size;
    return options;
  }
};

enum class Place { here, elsewhere, nowhere };

struct Found {
  Place place = Place::here;
  std::string type;  // "" if unknown
};

Found find(const CommandContext& context, const std::string& model) {
  const auto reply = context.api.call(ApiRequest::get(model_path(model)));
  if (reply && reply->status == 404) return {.place = Place::nowhere, .type = ""};
  if (!reply || reply->status >= 400) return {};  // the load reports the error
  const auto info = parse_model(reply->body);
  if (!info) return {};
  return {.place = info->is_far ? Place::elsewhere : Place::here, .type = info->type};
}

// A model in memory is reloaded only for other options. A missing model is downloaded, and may get another name. A
// model without chats is rejected before its load.
Result<> make_ready(const CommandContext& context, RunOptions& run) {
  LoadRequest options = run.load();
  const Found found = find(context, options.model);
  if (!found.type.empty() && found.type != "llm") {
    return fail(errc::usage,
                fmt::format("'{}' has the type {}, which cannot chat; corral list shows models of the type llm",
                            options.model, found.type));
  }
  if (!options.any()) {
    const auto text = fetch(context.api, ApiRequest::get("/api/v1/health"));
    if (!text) return std::unexpected(text.error());
    const auto health = parse_health(*text);
    if (health && health->find(options.model)) return {};
  }
  if (found.place == Place::elsewhere && !options.any()) return {};  // its node loads it
  if (found.place == Place::nowhere) {
    auto name = see_that_it_is_here(context, options.model, run.yes);
    if (!name) return std::unexpected(name.error());
    run.model = options.model = std::move(*name);
  }
  warn_if_pinned_full(context, options.model);
  const auto loaded = load_with_progress(context, options);
  const bool unknown = found.place == Place::nowhere && !loaded && loaded.error().code == errc::request_failed;
  if (unknown && find_target(context, run.model).alias.empty() && !names_a_source(run.model))
    return std::unexpected(no_such_model(context, run.model, loaded.error().message));
  if (!loaded) return std::unexpected(loaded.error());
  return {};
}

// The dialogue at a terminal.
class Dialogue {
 public:
  Dialogue(CommandContext& context, Chat& chat) : context_(context), chat_(chat) {}

  Result<int> run() {
    print("Type a message, or /help.\n");
    while (true) {
      const InputLine input = read_message();
      if (input.kind == InputLine::Kind::end) return leave(kExitOk);
      if (input.kind == InputLine::Kind::interrupted) {
        if (interrupts_in_a_row_++ > 0) return leave(kExitInterrupted);
        print("\n(Ctrl-C once more, or /bye, to leave)\n");
        continue;
      }
      interrupts_in_a_row_ = 0;
      if (input.text == "/bye") return kExitOk;
      if (!input.text.empty()) answer(input.text);
    }
  }

 private:
  void print(std::string_view text) { context_.terminal.err << text << std::flush; }
  void prompt(std::string_view text) { context_.terminal.out << text << std::flush; }
  int leave(int code) {
    print("\n");
    return code;
  }

  // A line, or the lines between fences.
  InputLine read_message() {
    prompt(">>> ");
    InputLine line = context_.input.read_line();
    if (line.kind != InputLine::Kind::line || !line.text.starts_with(kFence)) return line;
    std::string text = line.text.substr(kFence.size());
    while (!text.ends_with(kFence)) {
      prompt("... ");
      line = context_.input.read_line();
      if (line.kind != InputLine::Kind::line) return line;
      if (!text.empty()) text += '\n';
      text += line.text;
    }
    text.resize(text.size() - kFence.size());
    while (text.ends_with('\n')) text.pop_back();
    return {InputLine::Kind::line, std::move(text)};
  }

  void answer(const std::string& text) {
    if (text == "/clear") {
      chat_.clear();
      return print("The conversation is cleared.\n");
    }
    if (text == "/help" || text == "/?") return print(kHelp);
    if (text.starts_with('/') && text.find_first_of(" \n/", 1) == std::string::npos) {
      return print(fmt::format("Unknown command {}; see /help.\n", text));
    }
    const auto done = chat_.ask(text);
    if (done) return;
    if (done.error().code == errc::interrupted) {
      interrupts_in_a_row_ = 1;
      return print("(stopped)\n");
    }
    print(fmt::format("error: {}\n", printable(done.error().message)));
  }

  CommandContext& context_;
  Chat& chat_;
  int interrupts_in_a_row_ = 0;
};

// Text from the command line, followed by the input from a pipe. Empty: ask the user.
Result<std::string> find_prompt(const RunOptions& options, CommandContext& context) {
  std::string prompt = fmt::format("{}", fmt::join(options.prompt, " "));
  const bool read = prompt.empty() ? !context.terminal.in_tty : context.input.is_piped();
  if (!read) return prompt;
  InputLine piped = context.input.read_all();
  if (piped.kind == InputLine::Kind::interrupted) return fail(errc::interrupted, "interrupted");
  while (piped.text.ends_with('\n')) piped.text.pop_back();
  if (!prompt.empty() && !piped.text.empty()) prompt += "\n\n";
  prompt += piped.text;
  if (prompt.empty()) return fail(errc::usage, "no prompt: give it as an argument or on standard input");
  return prompt;
}

Result<int> answer_as_json(const RunOptions& options, const std::string& prompt, CommandContext& context) {
  std::vector<ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({"system", options.system});
  messages.push_back({"user", prompt});
  const std::string body = chat_body(options.chat(), messages, false);
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/chat/completions", body));
  if (!text) return std::unexpected(text.error());
  return print_json(context, *text);
}

Result<int> run(RunOptions options, CommandContext& context) {
  const auto server = see_that_a_server_runs(context, options.start);
  if (!server) return std::unexpected(server.error());
  if (options.model.empty()) {
    auto model = choose_model(context);
    if (!model) return std::unexpected(model.error());
    options.model = std::move(*model);
    options.yes = true;  // the plan was already shown
  }
  const auto prompt = find_prompt(options, context);
  if (!prompt) return std::unexpected(prompt.error());
  if (context.json && prompt->empty()) return fail(errc::usage, "--json needs a prompt");
  if (const auto ready = make_ready(context, options); !ready) return std::unexpected(ready.error());
  if (context.json) return answer_as_json(options, *prompt, context);
  Chat chat(context.api, context.terminal, options.chat(), options.system);
  if (prompt->empty()) return Dialogue(context, chat).run();
  if (const auto answered = chat.ask(*prompt); !answered) return std::unexpected(answered.error());
  return kExitOk;
}

}  // namespace

Action declare_run(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  app.add_option("MODEL", options->model,
                 "Name of the model; a missing one is downloaded after a question. Default: a list to choose from")
      ->type_name("");
  app.add_option("PROMPT", options->prompt,
                 "Print the response to this prompt and exit. Without it, chat; text from a pipe is also a prompt")
      ->type_name("");
  app.add_option("--system", options->system, "Instructions for the model")->type_name("TEXT");
  app.add_option("--ctx-size", options->ctx_size, "Context in tokens; a model with another context is loaded again")
      ->type_name("N");
  app.add_option("--max-tokens", options->max_tokens, "Maximum length of a response in tokens")->type_name("N");
  app.add_option("--temperature", options->temperature, "0: always the most likely token")->type_name("X");
  app.add_option("--seed", options->seed, "The same seed gives the same response")->type_name("N");
  app.add_flag("--yes", options->yes, "Download a missing model without a question");
  app.add_flag("--start", options->start, "If no server responds, start one for the time of this command");
  return [options](CommandContext& context) { return run(*options, context); };
}

}  // namespace corral::cli
