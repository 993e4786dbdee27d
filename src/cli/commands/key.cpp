// Keys of the server's clients. They are in a file of the server's state folder. A user that may write this file may
// make keys, so the command needs no key. It works before the first start of the server, and a running server reads
// changes at once. /internal/keys does the same over HTTP, and needs a key.
#include <memory>

#include <CLI/App.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/errors.h"
#include "cli/terminal/table.h"
#include "cli/terminal/table_flags.h"
#include "config/files/key_file.h"
#include "config/serve_settings.h"
#include "json/value.h"

namespace corral::cli {
namespace {

Result<config::ServeSettings> places(const CommandContext& context) {
  config::ServeSettings settings;
  auto folder = config::find_state_dir(context.inputs);
  if (!folder) return std::unexpected(folder.error());
  settings.state_dir = std::move(*folder);
  return settings;
}

// "2026-03-01 17:04", in local time.
std::string when(std::int64_t millis) {
  if (millis <= 0) return "never";
  const auto seconds = static_cast<std::time_t>(millis / 1000);
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(seconds));
}

struct Wanted {
  std::string name;
  std::vector<std::string> scopes = {"inference"};
  config::KeyTerms terms;
  std::string which;
};

Result<int> create(const Wanted& wanted, CommandContext& context) {
  const auto settings = places(context);
  if (!settings) return std::unexpected(settings.error());
  const auto scopes = config::parse_scopes(wanted.scopes);
  if (!scopes) return std::unexpected(scopes.error());
  const auto made = config::create_key(settings->keys_file(), wanted.name, *scopes,
                                       epoch_millis(context.clock.wall_now()), wanted.terms);
  if (!made) return std::unexpected(made.error());
  if (context.json) {
    auto row = config::to_json(made->key);
    row["key"] = made->text;
    return print_json(context, json::serialize(row));
  }
  context.terminal.err << fmt::format(
      "{} has the scopes: {}. The key is shown only once; from now on the server requires a key.\n", made->key.id,
      config::text_of(made->key.scopes));
  context.terminal.out << made->text << '\n';
  return kExitOk;
}

Result<int> list(CommandContext& context) {
  const auto settings = places(context);
  if (!settings) return std::unexpected(settings.error());
  const auto keys = config::read_key_file(settings->keys_file());
  if (!keys) return std::unexpected(keys.error());
  const auto uses = config::read_key_uses(settings->key_uses_file());
  const auto used = [&](const config::Key& key) {
    const auto found = uses.find(key.id);
    return found == uses.end() ? std::int64_t{0} : found->second;
  };
  const auto rows = keys->value_or(config::KeyList()).keys;
  if (context.json) {
    json::Array array;
    for (const auto& key : rows) {
      auto row = config::to_json(key);
      row["last_used"] = used(key) > 0 ? json::Value(used(key)) : json::Value();
      array.push_back(std::move(row));
    }
    return print_json(context, json::serialize(json::Object{{"keys", std::move(array)}}));
  }
  Table table(
      {{"ID"}, {"NAME"}, {"SCOPES", Align::left, 2}, {"CREATED", Align::left, 3}, {"LAST USED", Align::left, 1}});
  for (const auto& key : rows) {
    table.add({key.id, key.name, config::text_of(key.scopes), when(key.created), when(used(key))});
  }
  table.print(context.terminal);
  return kExitOk;
}

Result<int> revoke(const Wanted& wanted, CommandContext& context) {
  const auto settings = places(context);
  if (!settings) return std::unexpected(settings.error());
  const auto revoked = config::revoke_key(settings->keys_file(), wanted.which);
  if (!revoked) return std::unexpected(revoked.error());
  if (context.json) {
    const json::Object row{{"status", "success"}, {"id", revoked->key.id}, {"keys_left", revoked->left}};
    return print_json(context, json::serialize(row));
  }
  context.terminal.out << printable(fmt::format("key {} is revoked", revoked->key.id)) << '\n';
  if (revoked->left == 0) {
    context.terminal.err << fmt::format(
        "no key is left, and the server still requires one: create another, or remove {} and restart the server\n",
        settings->keys_file().native());
  }
  return kExitOk;
}

}  // namespace

Action declare_key(CLI::App& app) {
  const auto wanted = std::make_shared<Wanted>();
  auto* creating = app.add_subcommand("create", "Create a key and print it once");
  creating->add_option("--name", wanted->name, "Its purpose, shown in the list")->type_name("NAME");
  creating
      ->add_option("--scope", wanted->scopes,
                   "inference: use models; admin: administer the server; repeatable [inference]")
      ->type_name("SCOPE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->delimiter(',');
  creating
      ->add_option("--max-in-flight", wanted->terms.max_in_flight,
                   "Maximum number of concurrent requests; 0: max_in_flight_per_key [0]")
      ->type_name("N")
      ->check(CLI::Range(0u, config::kMaxInFlight));
  creating->add_flag("--background", wanted->terms.background, "Requests of other keys take precedence");
  creating->fallthrough();
  auto* listing = app.add_subcommand("list", "List keys, without secrets");
  listing->fallthrough();
  auto* revoking = app.add_subcommand("revoke", "Revoke a key at once");
  revoking->add_option("KEY", wanted->which, "Its identifier or name")->required()->type_name("");
  revoking->fallthrough();
  add_table_flags(app);
  app.require_subcommand(1);
  return [wanted, creating, listing](CommandContext& context) {
    if (creating->parsed()) return create(*wanted, context);
    return listing->parsed() ? list(context) : revoke(*wanted, context);
  };
}

}  // namespace corral::cli
