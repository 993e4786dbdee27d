#include <memory>

#include <CLI/App.hpp>
#include <fmt/format.h>

#include "cli/chat/dialogue.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/loading.h"
#include "cli/offers.h"
#include "cli/pulling.h"
#include "cli/showing.h"
#include "cli/starting.h"
#include "config/paths.h"

namespace corral::cli {
namespace {

struct RunOptions {
  std::string model;
  std::vector<std::string> prompt;
  std::string system;
  std::optional<std::int64_t> ctx_size;
  std::optional<std::int64_t> max_tokens;
  std::optional<double> temperature;
  std::optional<std::int64_t> seed;
  std::string format;
  std::string keep_alive;
  std::vector<std::string> images;
  std::vector<std::string> files;
  bool verbose = false;
  bool history = true;
  bool yes = false;
  bool start = false;

  LoadRequest load() const {
    LoadRequest options{model};
    options.values.ctx_size = ctx_size;
    return options;
  }
};

// What the flags set. Errors: usage.
Result<ChatSettings> settings_of(const RunOptions& options) {
  ChatSettings settings;
  if (options.max_tokens && *options.max_tokens < 1)
    return fail(errc::usage, fmt::format("--max-tokens must be at least 1, not {}", *options.max_tokens));
  std::vector<std::pair<std::string_view, std::string>> values;
  if (options.max_tokens) values.emplace_back("max_completion_tokens", fmt::to_string(*options.max_tokens));
  if (options.temperature) values.emplace_back("temperature", fmt::format("{}", *options.temperature));
  if (options.seed) values.emplace_back("seed", fmt::to_string(*options.seed));
  for (const auto& [name, value] : values) {
    if (auto set = settings.set(name, value); !set) return std::unexpected(set.error());
  }
  if (!options.format.empty()) {
    if (auto set = settings.set_format(options.format); !set) return std::unexpected(set.error());
  }
  return settings;
}

Result<Draft> draft_of(const RunOptions& options) {
  Draft draft;
  for (const std::string& file : options.files) {
    if (auto added = attach(file, draft); !added) return std::unexpected(added.error());
  }
  for (const std::string& file : options.images) {
    if (auto added = attach_picture(file, draft); !added) return std::unexpected(added.error());
  }
  return draft;
}

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

Result<int> answer_as_json(const ChatState& chat, const ChatMessage& message, CommandContext& context) {
  std::vector<ChatMessage> messages;
  if (!chat.system.empty()) messages.push_back({"system", chat.system});
  messages.push_back(message);
  const std::string body = chat_body({chat.model, chat.settings.fields()}, messages, false);
  const auto text = fetch(context.api, ApiRequest::post("/api/v1/chat/completions", body));
  if (!text) return std::unexpected(text.error());
  return print_json(context, *text);
}

Result<int> converse(const RunOptions& options, CommandContext& context, Chat& chat, Draft draft) {
  const auto make_model_ready = [&context](const std::string& name) -> Result<std::string> {
    RunOptions run;
    run.model = name;
    if (auto ready = make_ready(context, run); !ready) return std::unexpected(ready.error());
    return run.model;
  };
  const auto show = [&context](const std::string& model, bool only_template) -> Result<> {
    const auto shown = show_model(model, only_template, context);
    return shown ? Result<>() : std::unexpected(shown.error());
  };
  const auto folder = config::Paths::from(context.inputs.environment).state_home / "corral" / "chats";
  Dialogue dialogue(context, chat, {SavedChats(folder), options.history, make_model_ready, show});
  return dialogue.run(std::move(draft));
}

Result<int> chat_with(const RunOptions& options, CommandContext& context, ChatSettings settings,
                      const std::string& prompt, Draft draft) {
  ChatState state{.model = options.model, .system = options.system, .settings = std::move(settings)};
  if (prompt.empty()) {
    Chat chat({context.api, context.terminal, context.clock}, std::move(state), options.verbose);
    return converse(options, context, chat, std::move(draft));
  }
  ChatMessage message{"user", draft.texts + prompt, std::move(draft.attachments)};
  if (context.json) return answer_as_json(state, message, context);
  Chat chat({context.api, context.terminal, context.clock}, std::move(state), options.verbose);
  if (const auto answered = chat.ask(std::move(message)); !answered) return std::unexpected(answered.error());
  return kExitOk;
}

// How long the model stays in memory after the chat: a request without a prompt, as Ollama's.
void keep_alive(const RunOptions& options, CommandContext& context) {
  const std::string body = text_object({{"model", options.model}, {"keep_alive", options.keep_alive}});
  const auto kept = fetch(context.api, ApiRequest::post("/api/generate", body));
  if (!kept) context.terminal.err << printable(fmt::format("warning: --keep-alive: {}\n", kept.error().message));
}

Result<int> run(RunOptions options, CommandContext& context) {
  auto settings = settings_of(options);
  if (!settings) return std::unexpected(settings.error());
  auto draft = draft_of(options);
  if (!draft) return std::unexpected(draft.error());
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
  auto code = chat_with(options, context, std::move(*settings), *prompt, std::move(*draft));
  if (!options.keep_alive.empty()) keep_alive(options, context);
  return code;
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
  app.add_option("--format", options->format, "json, or a file with a JSON schema: responses are JSON")
      ->type_name("FORMAT");
  app.add_option("--image", options->images, "A picture for the first message; again for more")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--file", options->files, "A text, picture or sound for the first message; again for more")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--keep-alive", options->keep_alive,
                 "How long the model stays in memory afterwards: 10m; 0: it is unloaded; -1: for good")
      ->type_name("TIME");
  app.add_flag("--verbose", options->verbose, "Show numbers of tokens and their speed after each response");
  app.add_flag("--history,!--no-history", options->history, "Keep messages for later chats (default)");
  app.add_flag("--yes", options->yes, "Download a missing model without a question");
  app.add_flag("--start", options->start, "If no server responds, start one for the time of this command");
  return [options](CommandContext& context) { return run(*options, context); };
}

}  // namespace corral::cli
