#include "cli/program.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include <CLI/App.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/service_notifier.h"
#include "cli/commands/command.h"
#include "cli/completion.h"
#include "cli/errors.h"
#include "cli/server/reply_parser.h"
#include "cli/terminal/help_formatter.h"
#include "cli/terminal/table_flags.h"
#include "cli/unexpected.h"
#include "config/flags.h"
#include "config/load/server_flags.h"

namespace corral::cli {
namespace {

// The parsed command line. Flags store values in it, so it can't be moved.
class CommandLine {
 public:
  explicit CommandLine(std::size_t width = kHelpWidth)
      : app_("One endpoint for many local models, each in its own process.", "corral") {
    app_.formatter(std::make_shared<HelpFormatter>(width));
    app_.require_subcommand(0, 1);
    app_.set_version_flag("-v,-V,--version", [this] { return version_text_; }, "Print the version");
    serve_ = app_.add_subcommand("serve", "Run the server");
    config::add_serve_flags(*serve_, inputs_);
    serve_->footer(config::server_flags_help());
    for (const Command& command : commands()) {
      CLI::App* sub = app_.add_subcommand(std::string(command.name), std::string(command.summary));
      if (!command.alias.empty()) sub->alias(std::string(command.alias));
      rows_.push_back({sub, command.declare(*sub)});
      sub->add_flag("--json", json_, "Print JSON, for scripts");
      if (command.local) {
        config::add_file_flags(*sub, inputs_);
        continue;
      }
      sub->add_option("--url", url_, "Address of the server, instead of host and port")
          ->type_name("URL")
          ->group("Server");
      config::add_client_flags(*sub, inputs_);
    }
  }
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  CLI::App& app() { return app_; }
  config::Inputs& inputs() { return inputs_; }
  void set_version(std::string text) { version_text_ = std::move(text); }
  bool json() const { return json_; }
  const std::string& url() const { return url_; }
  bool is_serve() const { return serve_->parsed(); }
  const Action* action() const {
    for (const Row& row : rows_) {
      if (row.app->parsed()) return &row.action;
    }
    return nullptr;
  }

 private:
  struct Row {
    CLI::App* app;
    Action action;
  };

  CLI::App app_;
  CLI::App* serve_ = nullptr;
  std::vector<Row> rows_;
  config::Inputs inputs_;
  std::string url_;
  std::string version_text_;
  bool json_ = false;
};

// With --json the command prints the error as its result.
int report(const Terminal& terminal, const Error& error, bool json = false) {
  if (json) {
    terminal.out << error_object(error) << std::endl;
  } else if (error.code == errc::interrupted) {
    const bool explained = error.message != "interrupted";
    terminal.err << '\n' << (explained ? "corral: " + printable(error.message) + '\n' : "");
  } else {
    terminal.err << "corral: " << printable(error.message) << '\n';
  }
  return exit_code_of(error);
}

int serve(CommandLine& line, const Hooks& hooks, const ProgramIo& surroundings) {
  const auto settings = config::LiveSettings::open(line.inputs());
  if (!settings) {
    // `systemctl status` shows it.
    ServiceNotifier(surroundings.environment).status(settings.error().message);
    return report(surroundings.terminal, settings.error());
  }
  return hooks.serve(**settings);
}

Result<Address> address_by(const CommandLine& line, const config::Inputs& inputs,
                           const config::ClientSettings& settings) {
  const std::string url = line.url().empty() ? inputs.environment("CORRAL_URL").value_or("") : line.url();
  // Flags override the variable.
  const bool by_flag = line.url().empty() && (inputs.flags.contains("host") || inputs.flags.contains("port"));
  if (url.empty() || by_flag) return address_of(settings);
  auto address = parse_url(url);
  if (address) address->api_key = settings.api_key;
  return address;
}

Result<Address> find_address(const CommandLine& line, const config::Inputs& inputs, const Terminal& terminal) {
  const auto settings = config::load_client_settings(inputs);
  if (!settings) return std::unexpected(settings.error());
  auto address = address_by(line, inputs, *settings);
  // The file may name another server.
  if (address && !settings->problem.empty())
    terminal.err << printable(fmt::format("warning: {}; using the server at {}\n", settings->problem, address->url()));
  return address;
}

int command(CommandLine& line, const Action& action, const Hooks& hooks, ProgramIo& surroundings) {
  const auto address = find_address(line, line.inputs(), surroundings.terminal);
  if (!address) return report(surroundings.terminal, address.error(), line.json());
  const auto api = surroundings.connect(*address);
  Terminal terminal = surroundings.terminal;
  terminal.tables = table_view(line.app());
  CommandContext context{*api, terminal, surroundings.input, surroundings.clock, hooks, line.inputs(), line.json()};
  if (surroundings.start_server)
    context.start_server = [&] { return surroundings.start_server(*address, line.inputs()); };
  const auto outcome = action(context);
  surroundings.terminal.out << std::flush;
  if (outcome && !surroundings.terminal.out)
    return report(surroundings.terminal, Error(errc::request_failed, "standard output can't be written"), line.json());
  return outcome ? *outcome : report(surroundings.terminal, outcome.error(), line.json());
}

// Without a server, or with an old one, there are no names of models.
std::vector<std::string> names_of_models(const Result<Address>& address, const ProgramIo& surroundings) {
  if (!address) return {};
  const auto api = surroundings.connect(*address);
  const auto text = fetch(*api, ApiRequest::get("/api/v1/models"));
  const auto models = text ? parse_models(*text) : std::unexpected(text.error());
  std::vector<std::string> names;
  for (const ListedModel& model : models.value_or(std::vector<ListedModel>())) names.push_back(model.name);
  return names;
}

int complete_words(CommandLine& line, std::span<const std::string> words, const ProgramIo& surroundings) {
  const auto models = [&] {
    return names_of_models(find_address(line, line.inputs(), surroundings.terminal), surroundings);
  };
  for (const Candidate& one : complete(line.app(), words, models)) {
    surroundings.terminal.out << printable(one.text) << (one.help.empty() ? "" : "\t") << printable(one.help) << '\n';
  }
  return kExitOk;
}

}  // namespace

namespace {

// Flags that every command with a server has can stand before its name: they are moved behind it. `serve` has flags of
// its own.
std::vector<std::string> with_command_first(std::vector<std::string> words, const CLI::App& program) {
  const CLI::App& example = *program.get_subcommand("status");
  std::size_t command = 0;
  while (command < words.size() && words[command].starts_with("--")) {
    const std::string& word = words[command];
    const auto equals = word.find('=');
    const auto* const flag = example.get_option_no_throw(word.substr(0, equals));
    if (flag == nullptr || word == "--help") return words;
    command += flag->get_items_expected_max() > 0 && equals == word.npos ? 2 : 1;
  }
  if (command >= words.size() || words[command] == "serve") return words;
  const auto name = words.begin() + static_cast<std::ptrdiff_t>(command);
  std::rotate(words.begin(), name, name + 1);
  return words;
}

// `help [COMMAND]` as a flag, and the flags of llama-server for `serve` as its own.
Result<std::vector<std::string>> translated(const std::vector<std::string>& arguments, const Terminal& terminal) {
  if (!arguments.empty() && arguments.front() == "help") {
    std::vector<std::string> words(arguments.begin() + 1, arguments.end());
    words.emplace_back("--help");
    return words;
  }
  if (arguments.empty() || arguments.front() != "serve") return arguments;
  auto own = config::translate_server_flags({arguments.begin() + 1, arguments.end()}, config::read_text_file);
  if (!own) return std::unexpected(own.error());
  if (!own->without_effect.empty())
    terminal.err << "corral: without effect here: " << fmt::format("{}", fmt::join(own->without_effect, ", ")) << '\n';
  own->words.insert(own->words.begin(), arguments.front());
  return std::move(own->words);
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, const Hooks& hooks, ProgramIo& surroundings) {
  const Terminal& terminal = surroundings.terminal;
  CommandLine line(help_width(terminal));
  line.set_version("corral " + hooks.version);
  line.inputs().environment = surroundings.environment;
  line.inputs().service_file = surroundings.service_file;
  if (!arguments.empty() && arguments.front() == kCompleteCommand)
    return complete_words(line, std::span(arguments).subspan(1), surroundings);
  const bool wants_json = std::ranges::find(arguments, "--json") != arguments.end();
  auto words = translated(with_command_first(arguments, line.app()), terminal);
  if (!words) return report(terminal, words.error());
  try {
    line.app().parse(std::vector<std::string>(words->rbegin(), words->rend()));  // the library wants them reversed
  } catch (const CLI::Success& wanted) {                                         // --help, --version
    if (names_no_command(line.app()))
      return report(terminal, {errc::usage, explain_unexpected(line.app())}, wants_json);
    line.app().exit(wanted, terminal.out, terminal.err);
    return kExitOk;
  } catch (const CLI::ExtrasError&) {
    return report(terminal, {errc::usage, explain_unexpected(line.app())}, wants_json);
  } catch (const CLI::ParseError& error) {
    return report(terminal, {errc::usage, explain_missing(line.app(), error.what())}, wants_json);
  }
  if (line.is_serve()) return serve(line, hooks, surroundings);
  if (const Action* action = line.action()) return command(line, *action, hooks, surroundings);
  terminal.out << line.app().help();
  return kExitOk;
}

std::string help_text(const std::string& name) {
  CommandLine line;
  const CLI::App* app = &line.app();
  std::string parents;
  std::istringstream words(name);
  for (std::string word; words >> word;) {
    parents += (parents.empty() ? "" : " ") + app->get_name();
    app = app->get_subcommand(word);
  }
  return app->help(parents);
}

void with_command_line(const std::function<void(const CLI::App&)>& use) {
  CommandLine line;
  use(line.app());
}

std::vector<std::string> command_names() {
  CommandLine line;
  std::vector<std::string> names;
  const auto add = [&names](const auto& self, const CLI::App& parent, const std::string& before) -> void {
    for (const CLI::App* command : parent.get_subcommands(nullptr)) {
      names.push_back(before + command->get_name());
      self(self, *command, names.back() + " ");
    }
  };
  add(add, line.app(), "");
  return names;
}

}  // namespace corral::cli
