// Starts a coding agent that uses the server, with the variables, arguments and files that it needs. The user's own
// settings stay unchanged. The agent's program replaces this one.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/shell_word.h"
#include "base/state_file.h"
#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/launch_plan.h"
#include "cli/loading.h"
#include "config/load.h"

namespace corral::cli {
namespace {

struct Wanted {
  std::string agent, model;
  std::vector<std::string> arguments;
  bool print = false;
  bool force = false;
};

// Context for long sessions of every agent.
constexpr std::int64_t kGoodContext = 65536;

Result<ListedModel> named_model(ServerApi& api, const std::string& name) {
  const auto text = fetch(api, ApiRequest::get(model_path(name)));
  if (!text) return std::unexpected(text.error());
  auto model = parse_model(*text);
  if (!model) return std::unexpected(model.error());
  if (!model->type.empty() && model->type != "llm") {
    return fail(errc::usage, fmt::format("'{}' has the type {}, but an agent needs a chat model: see 'corral list'",
                                         name, model->type));
  }
  model->name = name;  // the given name may be an alias
  return model;
}

// The model in memory, or the only one in the list.
Result<ListedModel> choose_model(ServerApi& api) {
  const auto text = fetch(api, ApiRequest::get("/api/v1/models"));
  if (!text) return std::unexpected(text.error());
  const auto models = parse_models(*text);
  if (!models) return std::unexpected(models.error());
  std::vector<ListedModel> all, loaded;
  for (const auto& model : *models) {
    if (model.type != "llm" || !model.alias_of.empty()) continue;
    all.push_back(model);
    if (model.state == "loaded" || model.state == "downsized") loaded.push_back(model);
  }
  if (loaded.size() == 1) return loaded.front();
  if (all.size() == 1) return all.front();
  if (all.empty()) return fail(errc::usage, "the server has no chat model: add one to a models folder");
  constexpr std::size_t kShown = 10;
  const auto& candidates = loaded.empty() ? all : loaded;
  std::vector<std::string> names;
  for (const auto& model : candidates) {
    if (names.size() < kShown) names.push_back(model.name);
  }
  return fail(errc::usage, fmt::format("several models are available: select one with --model, such as {}{}",
                                       fmt::join(names, ", "), candidates.size() > kShown ? ", …" : ""));
}

std::string key_of(const CommandContext& context) {
  const auto settings = config::load_client_settings(context.inputs);
  return settings && !settings->api_key.empty() ? settings->api_key : "none";
}

// Executes another program; returns only after an error.
std::unexpected<Error> become(const std::string& file, const LaunchPlan& plan) {
  for (const auto& [name, value] : plan.variables) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments{const_cast<char*>(plan.program.c_str())};
  for (const auto& argument : plan.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  sigset_t none;  // the program handles Ctrl-C itself
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execv(file.c_str(), arguments.data());
  return fail(errc::request_failed,
              fmt::format("{} cannot be started: {}", file, std::generic_category().message(errno)));
}

// The automatic context of a load; 0: unknown, because the caller may not change options, or the model is loaded and
// its own memory would be free.
std::int64_t automatic_context(ServerApi& api, const ListedModel& model) {
  if (model.state == "loaded" || model.state == "downsized") return 0;
  const auto question = ApiRequest::post(model_path(model.name) + "/options", R"({"ctx_size":-1,"dry_run":true})");
  const auto reply = api.call(question);
  if (!reply || reply->status >= 400) return 0;
  const auto load = parse_load_outcome(reply->body);
  return load ? load->context.value_or(0) : 0;
}

// Why the model's context is too small for the agent, and what to do; empty: it isn't, or it is unknown.
std::string too_small(ServerApi& api, const Agent& agent, const ListedModel& model) {
  const std::int64_t now = model.context.value_or(0), trained = model.max_context.value_or(0);
  if (now <= 0 || now >= agent.min_context) return {};
  const auto needs = fmt::format("but {} needs {} or more", agent.name, agent.min_context);
  if (trained > 0 && trained < agent.min_context) {
    return fmt::format(
        "'{}' has a context of {} tokens and was trained with {}, {}: select another model with --model, or use "
        "--force",
        model.name, now, trained, needs);
  }
  const auto automatic = automatic_context(api, model);
  const auto largest = 2 * automatic;  // an automatic context leaves up to half of the memory free
  if (automatic > 0 && largest < agent.min_context) {
    return fmt::format(
        "'{}' has a context of {} tokens, and the free memory is enough for about {}, {}: unload other models, select "
        "another one with --model, or use --force",
        model.name, now, std::max(now, largest), needs);
  }
  auto advised = automatic > 0 ? automatic : kGoodContext;
  if (trained > 0) advised = std::min(advised, trained);
  advised = std::clamp(advised, agent.min_context, kGoodContext);
  return fmt::format(
      "'{}' has a context of {} tokens, {}: enlarge it with corral load {} --ctx-size {} --save-options, or use "
      "--force",
      model.name, now, needs, shell_word(model.name), advised);
}

Result<int> launch(const Wanted& wanted, CommandContext& context) {
  const auto* const agent = find_agent(wanted.agent);
  if (agent == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& one : agents()) names.push_back(one.name);
    return fail(errc::usage, fmt::format("unknown agent '{}': use one of {}", wanted.agent, fmt::join(names, ", ")));
  }
  const auto file = find_program(agent->program, context.inputs.environment("PATH").value_or(""));
  if (file.empty() && !wanted.print)
    return fail(errc::usage, fmt::format("the program '{}' is not in PATH: {}", agent->program, agent->install));
  const auto model = wanted.model.empty() ? choose_model(context.api) : named_model(context.api, wanted.model);
  if (!model) return std::unexpected(model.error());
  const auto folder = config::find_state_dir(context.inputs);
  if (!folder) return std::unexpected(folder.error());
  LaunchRequest request{.url = context.api.url(),
                        .model = model->name,
                        .key = key_of(context),
                        .folder = (*folder / "launch").native(),
                        .arguments = wanted.arguments};
  if (model->context.value_or(0) > 0) request.context = *model->context;
  const auto plan = agent->plan(request);
  const auto problem = wanted.force ? std::string() : too_small(context.api, *agent, *model);
  if (!problem.empty() && !wanted.print) return fail(errc::usage, problem);
  if (!problem.empty()) context.terminal.err << printable(fmt::format("warning: {}\n", problem));
  for (const auto& [path, text] : plan.files) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    if (const auto written = write_state_file(path, text); !written)
      return fail(errc::request_failed, fmt::format("{} cannot be written: {}", path, written.error().message));
  }
  if (wanted.print) {
    if (context.json) return print_json(context, json_text(plan));
    context.terminal.out << shell_text(plan);
    return kExitOk;
  }
  context.terminal.out << std::flush;
  return become(file, plan);
}

}  // namespace

Action declare_launch(CLI::App& app) {
  const auto wanted = std::make_shared<Wanted>();
  app.add_option("AGENT", wanted->agent, "codex, claude, opencode, qwen or pi")->required()->type_name("");
  app.add_option("--model", wanted->model, "Model to use [the one in memory, or the only one]")->type_name("MODEL");
  app.add_flag("--force", wanted->force, "Launch it even if the model's context is too small for it");
  app.add_flag("--print", wanted->print,
               "Print the agent's configuration as shell commands, or with --json, without a start");
  app.add_option("ARGUMENT", wanted->arguments, "Arguments for the agent, after --")->type_name("");
  return [wanted](CommandContext& context) { return launch(*wanted, context); };
}

}  // namespace corral::cli
