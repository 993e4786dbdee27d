#include "cli/launch_plan.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <unistd.h>

#include "base/shell_word.h"
#include "json/value.h"
#include "json/writer.h"

namespace corral::cli {
namespace {

void add_own(LaunchPlan& plan, const LaunchRequest& request) {
  plan.arguments.insert(plan.arguments.end(), request.arguments.begin(), request.arguments.end());
}

std::string quoted(std::string_view text) {
  std::string out;
  json::append_quoted(out, text);
  return out;
}

// Maximum length of an answer: some agents reserve this part of the context.
std::int64_t max_output(const LaunchRequest& request) { return std::min<std::int64_t>(request.context / 4, 16384); }

LaunchPlan claude(const LaunchRequest& request) {
  LaunchPlan plan{.program = "claude"};
  plan.variables = {{"ANTHROPIC_BASE_URL", request.url},
                    {"ANTHROPIC_AUTH_TOKEN", request.key},
                    {"ANTHROPIC_MODEL", request.model},
                    {"ANTHROPIC_SMALL_FAST_MODEL", request.model},
                    {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"}};
  // It assumes 200,000 tokens for unknown models, and would summarize the conversation too late.
  if (request.context > 0)
    plan.variables.emplace_back("CLAUDE_CODE_MAX_CONTEXT_TOKENS", std::to_string(request.context));
  add_own(plan, request);
  return plan;
}

// Its settings are TOML; a quoted JSON text is valid TOML, too.
LaunchPlan codex(const LaunchRequest& request) {
  LaunchPlan plan{.program = "codex"};
  plan.variables = {{"CORRAL_API_KEY_OF_CODEX", request.key}};
  const auto set = [&](std::string_view name, std::string_view value) {
    plan.arguments.emplace_back("-c");
    plan.arguments.push_back(fmt::format("{}={}", name, quoted(value)));
  };
  set("model_provider", "corral");
  set("model_providers.corral.name", "corral");
  set("model_providers.corral.base_url", request.url + "/v1");
  set("model_providers.corral.wire_api", "responses");
  set("model_providers.corral.env_key", "CORRAL_API_KEY_OF_CODEX");
  set("model", request.model);
  if (request.context > 0) {  // it assumes a much larger context for unknown models
    plan.arguments.insert(plan.arguments.end(), {"-c", fmt::format("model_context_window={}", request.context)});
  }
  add_own(plan, request);
  return plan;
}

// Merged with the user's own settings, for this start only.
LaunchPlan opencode(const LaunchRequest& request) {
  LaunchPlan plan{.program = "opencode"};
  const json::Object limit{{"context", request.context}, {"output", max_output(request)}};
  const json::Object provider{
      {"npm", "@ai-sdk/openai-compatible"},
      {"name", "corral"},
      {"options", json::Object{{"baseURL", request.url + "/v1"}, {"apiKey", request.key}}},
      {"models", json::Object{{request.model, json::Object{{"name", request.model}, {"limit", limit}}}}},
  };
  const json::Object settings{{"provider", json::Object{{"corral", provider}}},
                              {"model", "corral/" + request.model},
                              {"small_model", "corral/" + request.model}};
  plan.variables = {{"OPENCODE_CONFIG_CONTENT", json::serialize(settings)}};
  add_own(plan, request);
  return plan;
}

LaunchPlan qwen(const LaunchRequest& request) {
  LaunchPlan plan{.program = "qwen", .arguments = {"--auth-type", "openai"}};
  plan.variables = {
      {"OPENAI_BASE_URL", request.url + "/v1"}, {"OPENAI_API_KEY", request.key}, {"OPENAI_MODEL", request.model}};
  add_own(plan, request);
  return plan;
}

// It loads providers from extensions, in addition to the user's.
LaunchPlan pi(const LaunchRequest& request) {
  const auto file = request.folder + "/pi.js";
  LaunchPlan plan{.program = "pi", .arguments = {"-e", file, "--provider", "corral", "--model", request.model}};
  plan.variables = {{"CORRAL_API_KEY_OF_PI", request.key}};
  json::Array inputs;
  inputs.emplace_back("text");
  const json::Object no_cost{{"input", 0}, {"output", 0}, {"cacheRead", 0}, {"cacheWrite", 0}};
  json::Array models;
  models.push_back(json::Object{{"id", request.model},
                                {"name", request.model},
                                {"reasoning", false},
                                {"input", std::move(inputs)},
                                {"cost", no_cost},
                                {"contextWindow", request.context},
                                {"maxTokens", max_output(request)}});
  const json::Object provider{{"baseUrl", request.url + "/v1"},
                              {"apiKey", "CORRAL_API_KEY_OF_PI"},
                              {"api", "openai-completions"},
                              {"models", std::move(models)}};
  plan.files = {
      {file, fmt::format("export default (pi) => pi.registerProvider(\"corral\", {});\n", json::serialize(provider))}};
  add_own(plan, request);
  return plan;
}

// The first requests have about 10,000, 17,000, 8,000, 15,000 and 1,500 tokens. Claude Code reserves 33,000 more for an
// answer and a summary, the others a part of the context.
constexpr auto kAgents = std::to_array<Agent>({
    {"codex", "codex", "npm install -g @openai/codex", 32768, codex},
    {"claude", "claude", "npm install -g @anthropic-ai/claude-code", 65536, claude},
    {"opencode", "opencode", "npm install -g opencode-ai", 32768, opencode},
    {"qwen", "qwen", "npm install -g @qwen-code/qwen-code", 32768, qwen},
    {"pi", "pi", "npm install -g @mariozechner/pi-coding-agent", 8192, pi},
});

}  // namespace

std::span<const Agent> agents() { return kAgents; }

const Agent* find_agent(std::string_view name) {
  const auto* const found = std::ranges::find(kAgents, name, &Agent::name);
  return found == kAgents.end() ? nullptr : found;
}

std::string shell_text(const LaunchPlan& plan) {
  std::string text;
  for (const auto& [name, value] : plan.variables) text += fmt::format("export {}={}\n", name, shell_word(value));
  text += plan.program;
  for (const auto& argument : plan.arguments) text += " " + shell_word(argument);
  return text + "\n";
}

std::string json_text(const LaunchPlan& plan) {
  json::Object variables;
  for (const auto& [name, value] : plan.variables) variables[name] = value;
  json::Array arguments;
  for (const auto& argument : plan.arguments) arguments.emplace_back(argument);
  return json::serialize(json::Object{
      {"program", plan.program}, {"arguments", std::move(arguments)}, {"variables", std::move(variables)}});
}

std::string find_program(std::string_view name, std::string_view path) {
  while (!path.empty()) {
    const auto end = path.find(':');
    const auto folder = path.substr(0, end);
    const auto file = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (::access(file.c_str(), X_OK) == 0) return file;
    path = end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
  }
  return {};
}

}  // namespace corral::cli
