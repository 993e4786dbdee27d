// The mesh of the server: create, join, leave, list its nodes. A token is printed alone on standard output, so that it
// can be piped. For '-' it is read from standard input, so that no list of processes shows it.
#include <memory>
#include <vector>

#include <CLI/App.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "cli/commands/command.h"
#include "cli/commands/mesh_plan.h"
#include "cli/errors.h"
#include "cli/loading.h"
#include "cli/server/mesh_wire.h"
#include "cli/terminal/format.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/table.h"
#include "cli/terminal/table_flags.h"
#include "config/options/value.h"

namespace corral::cli {
namespace {

constexpr const char* kMesh = "/api/v1/mesh";

struct Wanted {
  std::string token, which, model, expires = "1h";
  bool with_admitted = false, all = false;
};

using Subcommand = Result<int> (*)(const Wanted& wanted, CommandContext& context);

ApiRequest get(std::string_view path) { return ApiRequest::get(fmt::format("{}{}", kMesh, path)); }
ApiRequest post(std::string_view path, std::string body) {
  return ApiRequest::post(fmt::format("{}{}", kMesh, path), std::move(body));
}

// As a part of a path.
std::string escaped(const std::string& model) {
  return model_path(model).substr(std::string_view("/api/v1/models/").size());
}

// "17:04", in local time; with the date from a day on.
std::string when(std::int64_t millis, const CommandContext& context) {
  const auto seconds = static_cast<std::time_t>(millis / 1000);
  const bool soon = millis - epoch_millis(context.clock.wall_now()) < 20 * 3'600'000;
  return soon ? fmt::format("{:%H:%M}", fmt::localtime(seconds))
              : fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(seconds));
}

std::string listed(const std::vector<std::string>& texts) {
  return texts.empty() ? std::string(kUnknown) : fmt::format("{}", fmt::join(texts, ", "));
}

Result<int> print_status(CommandContext& context, std::string_view text) {
  if (context.json) return print_json(context, text);
  const auto mesh = parse_mesh(text);
  if (!mesh) return std::unexpected(mesh.error());
  auto& out = context.terminal.out;
  const auto line = [&](std::string_view what, std::string_view value) {
    out << printable(fmt::format("{:<12}{}", what, value)) << '\n';
  };
  line("mesh", mesh->status == "member" ? mesh->mesh_id : mesh->status);
  line("this node", mesh->node_id.empty() ? mesh->name : fmt::format("{} ({})", mesh->name, mesh->role));
  if (!mesh->node_id.empty()) line("identifier", mesh->node_id);
  if (mesh->members > 0) {
    line("reached at", listed(mesh->addresses));
    line("nodes", fmt::format("{}, {} of them reachable", mesh->members, mesh->routable));
  }
  if (mesh->open_tokens > 0) line("tokens out", std::to_string(mesh->open_tokens));
  for (const auto& group : mesh->groups) line("hosts", group);
  if (!mesh->share.empty()) line("lends", mesh->share);
  if (!mesh->problem.empty()) context.terminal.err << printable("warning: " + mesh->problem) << '\n';
  if (mesh->status == "none")
    context.terminal.err << "Found a mesh with corral mesh create, or join one with corral mesh join TOKEN\n";
  return kExitOk;
}

Result<int> status(const Wanted&, CommandContext& context) {
  const auto text = fetch(context.api, get(""));
  if (!text) return std::unexpected(text.error());
  return print_status(context, *text);
}

Result<int> make_token(const Wanted& wanted, CommandContext& context) {
  const auto lifetime = config::parse_duration(wanted.expires);
  if (!lifetime)
    return fail(errc::usage, fmt::format("--expires: '{}' is not a time such as 10m or 24h", wanted.expires));
  const auto text = fetch(context.api, post("/tokens", token_body(lifetime->count() / 1000)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto token = parse_mesh_token(*text);
  if (!token) return std::unexpected(token.error());
  context.terminal.err << printable(
      fmt::format("Valid for one node, until {}. It is shown only once. On the other machine, while its server runs:\n "
                  " corral mesh join TOKEN\n",
                  when(token->expires, context)));
  context.terminal.out << printable(token->text) << '\n';
  return kExitOk;
}

Result<int> create(const Wanted& wanted, CommandContext& context) {
  const auto text = fetch(context.api, post("/create", "{}"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto mesh = parse_mesh(*text);
  if (!mesh) return std::unexpected(mesh.error());
  context.terminal.err << printable(fmt::format("Founded the mesh {}; this node is {}, address {}\n", mesh->mesh_id,
                                                mesh->name, listed(mesh->addresses)));
  if (!mesh->problem.empty()) context.terminal.err << printable("warning: " + mesh->problem) << '\n';
  return make_token(wanted, context);
}

// The typed token, or that on standard input.
Result<std::string> token_of(const Wanted& wanted, CommandContext& context) {
  if (wanted.token != "-") return wanted.token;
  if (context.terminal.in_tty) context.terminal.err << "Token: " << std::flush;
  const auto line = context.terminal.in_tty ? context.input.read_line() : context.input.read_all();
  if (line.kind == InputLine::Kind::interrupted) return fail(errc::interrupted, "interrupted");
  if (line.text.empty()) return fail(errc::usage, "standard input has no token");
  return line.text;
}

Result<int> join(const Wanted& wanted, CommandContext& context) {
  const auto token = token_of(wanted, context);
  if (!token) return std::unexpected(token.error());
  if (context.json) {
    const auto text = fetch(context.api, post("/join", join_body(*token, false)));
    if (!text) return std::unexpected(text.error());
    return print_json(context, *text);
  }
  std::optional<std::string> complete, failure;
  const auto on_event = [&](std::string_view event, std::string_view data) {
    if (event == "complete") complete = data;
    if (event == "error") failure = error_in(data).value_or(std::string(data));
    if (event != "step") return;
    if (const auto step = parse_join_step(data)) {
      context.terminal.err << printable(
          fmt::format("{} {} (within {})\n", step->step, step->address, human_duration(Millis(step->limit_ms))));
    }
  };
  const auto reply = context.api.stream(post("/join", join_body(*token, true)), on_event);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 400) return std::unexpected(refusal(context.api, *reply));
  if (failure) return fail(errc::request_failed, *failure);
  if (!complete) return fail(errc::bad_answer, "the server ended the response before the node joined");
  return print_status(context, *complete);
}

Result<int> leave(const Wanted&, CommandContext& context) {
  const auto text = fetch(context.api, post("/leave", "{}"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  context.terminal.out << "this node left the mesh\n";
  const auto mesh = parse_mesh(*text);
  if (mesh && !mesh->problem.empty()) context.terminal.err << printable("warning: " + mesh->problem) << '\n';
  return kExitOk;
}

Result<int> tokens(const Wanted& wanted, CommandContext& context) {
  const auto text = fetch(context.api, get("/tokens"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto rows = parse_mesh_tokens(*text);
  if (!rows) return std::unexpected(rows.error());
  Table table({{"ID"}, {"STATE"}, {"UNTIL"}, {"USED BY", Align::left, 1}});
  for (const auto& row : *rows) {
    if (!wanted.all && row.state != "open") continue;
    table.add({row.id, row.state, when(row.expires, context), or_unknown(row.used_by.substr(0, 12))});
  }
  table.print(context.terminal);
  return kExitOk;
}

Result<int> withdraw(const Wanted& wanted, CommandContext& context) {
  const auto text = fetch(context.api, {"DELETE", fmt::format("{}/tokens/{}", kMesh, wanted.which), {}});
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  context.terminal.out << printable(fmt::format("token {} is withdrawn", wanted.which)) << '\n';
  return kExitOk;
}

Result<int> revoke(const Wanted& wanted, CommandContext& context) {
  const auto text = fetch(context.api, post("/revoke", revoke_body(wanted.which, wanted.with_admitted)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  context.terminal.out << printable(fmt::format(
                              "node {} is revoked; it can only join again with a new identity and a new token",
                              wanted.which))
                       << '\n';
  return kExitOk;
}

// Without a source no bytes come: no node offers it, or the one that does is still hashing its file.
std::string pace_text(const MeshCopy& copy) {
  if (copy.from.empty()) return "waits for a node that sends it";
  return fmt::format("{}/s from {}", human_bytes(copy.bytes_per_second), copy.from);
}

void print_copy(const MeshCopy& copy, CommandContext& context) {
  auto text = fmt::format("{}  {}  {} of {}", copy.model, copy.state, human_bytes(copy.done), human_bytes(copy.total));
  if (copy.state == "copying") text += ", " + pace_text(copy);
  if (!copy.problem.empty()) text += ": " + copy.problem;
  context.terminal.out << printable(text) << '\n';
}

Result<int> cancel_copy(const Wanted& wanted, CommandContext& context) {
  const auto text = fetch(context.api, {"DELETE", fmt::format("{}/copies/{}", kMesh, escaped(wanted.which)), {}});
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  context.terminal.out << printable(fmt::format("the copy of {} is cancelled", wanted.which)) << '\n';
  return kExitOk;
}

Result<int> copies(const Wanted& wanted, CommandContext& context) {
  if (!wanted.which.empty()) return cancel_copy(wanted, context);
  const auto text = fetch(context.api, get("/copies"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto list = parse_mesh_copies(*text);
  if (!list) return std::unexpected(list.error());
  for (const auto& copy : *list) print_copy(copy, context);
  return kExitOk;
}

// Orders the copy, then shows its progress; the copy continues after this command ends.
Result<int> pull(const Wanted& wanted, CommandContext& context) {
  if (context.json) {
    const auto text = fetch(context.api, post("/pull", pull_body(wanted.which, false)));
    if (!text) return std::unexpected(text.error());
    return print_json(context, *text);
  }
  ProgressBar bar(context.terminal, wanted.which);
  std::optional<std::string> complete, failure;
  const auto on_event = [&](std::string_view event, std::string_view data) {
    if (event == "complete") complete = data;
    if (event == "error") failure = error_in(data).value_or(std::string(data));
    if (event != "progress") return;
    const auto copy = parse_mesh_copy(data);
    if (!copy || copy->total == 0) return;
    bar.show(static_cast<double>(copy->done) / static_cast<double>(copy->total),
             fmt::format("{} of {}, {}", human_bytes(copy->done), human_bytes(copy->total), pace_text(*copy)));
  };
  const auto reply = context.api.stream(post("/pull", pull_body(wanted.which, true)), on_event);
  bar.clear();
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 400) return std::unexpected(refusal(context.api, *reply));
  if (failure) return fail(errc::request_failed, *failure);
  if (!complete)
    return fail(errc::bad_answer, "the server ended the response before the copy was complete: see corral mesh copies");
  const auto copy = parse_mesh_copy(*complete);
  if (!copy) return std::unexpected(copy.error());
  print_copy(*copy, context);
  return kExitOk;
}

// The server's states of a link that is down differ in how often it dials.
std::string link_text(const MeshNode& node) { return node.self ? "self" : node.routable ? "up" : "down"; }

Result<int> nodes(const Wanted&, CommandContext& context) {
  const auto text = fetch(context.api, get("/nodes"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto rows = parse_mesh_nodes(*text);
  if (!rows) return std::unexpected(rows.error());
  Table table({{"NAME"},
               {"ID", Align::left, 5},
               {"LINK"},
               {"RTT", Align::right, 6},
               {"ROLE", Align::left, 7},
               {"MEMORY", Align::right, 3},
               {"FREE", Align::right, 2},
               {"MODELS", Align::right, 4},
               {"SERVES", Align::left, 1},
               {"ADDRESS", Align::left, 8},
               {"LAST END", Align::left, 9}});
  for (const auto& row : *rows) {
    const auto known = row.memory_total > 0;
    table.add({row.self ? row.name + " *" : row.name, row.id.substr(0, 12), link_text(row),
               row.rtt_ms ? fmt::format("{} ms", *row.rtt_ms) : std::string(kUnknown), or_unknown(row.role),
               known ? human_bytes(row.memory_total) : std::string(kUnknown),
               known ? human_bytes(row.memory_free) : std::string(kUnknown), std::to_string(row.models),
               listed(row.serving), row.addresses.empty() ? std::string(kUnknown) : row.addresses.front(),
               or_unknown(row.last_end)});
  }
  table.print(context.terminal);
  return kExitOk;
}

Result<int> models(const Wanted&, CommandContext& context) {
  const auto text = fetch(context.api, get("/models"));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto rows = parse_mesh_models(*text);
  if (!rows) return std::unexpected(rows.error());
  Table table({{"NAME"},
               {"TYPE", Align::left, 4},
               {"SIZE", Align::right, 3},
               {"STATUS"},
               {"ON DISK", Align::left, 2},
               {"SERVED BY", Align::left, 1}});
  for (const auto& row : *rows) {
    table.add({row.name, row.type, row.size > 0 ? human_bytes(row.size) : std::string(kUnknown), row.status,
               listed(row.on_disk), listed(row.serving)});
  }
  table.print(context.terminal);
  return kExitOk;
}

Result<int> why(const Wanted& wanted, CommandContext& context) {
  const auto text = fetch(context.api, get("/why/" + escaped(wanted.which)));
  if (!text) return std::unexpected(text.error());
  if (context.json) return print_json(context, *text);
  const auto choice = parse_mesh_choice(*text);
  if (!choice) return std::unexpected(choice.error());
  auto& out = context.terminal.out;
  const auto where = choice->here ? fmt::format("{} (this node)", choice->node) : choice->node;
  if (!choice->split_over.empty()) {
    out << printable(fmt::format("a request for {} would split it over {}; {} would be the host", choice->model,
                                 fmt::join(choice->split_over, ", "), choice->split_over.front()))
        << '\n';
  } else if (choice->node.empty()) {
    out << printable(fmt::format("{} cannot be served now: {}", choice->model, or_unknown(choice->shortage))) << '\n';
  } else {
    out << printable(fmt::format("a request for {} would go to {}", choice->model, where)) << '\n';
  }
  Table table({{"NODE"}, {"RANK"}, {"WHY"}});
  for (const auto& candidate : choice->candidates) table.add({candidate.name, candidate.rank, candidate.text});
  table.print(context.terminal);
  for (const auto& reason : choice->allocation) out << printable(reason) << '\n';
  return kExitOk;
}

Result<int> plan(const Wanted& wanted, CommandContext& context) { return show_plan(wanted.which, context); }
Result<int> assign(const Wanted& wanted, CommandContext& context) {
  return assign_model(wanted.which, wanted.model, context);
}
Result<int> unload(const Wanted& wanted, CommandContext& context) { return unload_everywhere(wanted.which, context); }

Result<int> doctor(const Wanted&, CommandContext& context) {
  const auto text = fetch(context.api, get("/doctor"));
  if (!text) return std::unexpected(text.error());
  const auto findings = parse_mesh_findings(*text);
  if (!findings) return std::unexpected(findings.error());
  bool broken = false;
  for (const auto& finding : *findings) broken = broken || finding.verdict == "failed";
  if (context.json) {
    const auto printed = print_json(context, *text);
    return broken ? Result<int>(kExitFailed) : printed;
  }
  for (const auto& finding : *findings) {
    const auto style = finding.verdict == "ok"       ? Style::green
                       : finding.verdict == "failed" ? Style::red
                                                     : Style::yellow;
    const auto verdict = context.terminal.paint(style, fmt::format("{:<8}", finding.verdict));
    const auto about = finding.node.empty() ? finding.step : fmt::format("{}: {}", finding.node, finding.step);
    context.terminal.out << verdict << printable(fmt::format("{}: {}", about, finding.text)) << '\n';
  }
  return broken ? kExitFailed : kExitOk;
}

}  // namespace

Action declare_mesh(CLI::App& app) {
  const auto wanted = std::make_shared<Wanted>();
  // Nested subcommands come after their parents: the last one that was given is used.
  const auto rows = std::make_shared<std::vector<std::pair<const CLI::App*, Subcommand>>>();
  const auto add = [&](CLI::App& to, const char* name, const char* about, Subcommand run) {
    auto* command = to.add_subcommand(name, about);
    command->fallthrough();
    rows->emplace_back(command, run);
    return command;
  };
  const auto expires = [&](CLI::App* command) {
    command->add_option("--expires", wanted->expires, "Lifetime of the token, at most a week [1h]")->type_name("TIME");
  };
  expires(add(app, "create", "Found a mesh with this node, and print a join token", create));
  add(app, "join", "Join the mesh of a token", join)
      ->add_option("TOKEN", wanted->token, "Output of corral mesh create or token; -: from standard input")
      ->required()
      ->type_name("");
  add(app, "leave", "Leave the mesh permanently", leave);
  auto* token = add(app, "token", "Print a join token for one more node", make_token);
  expires(token);
  add(*token, "list", "List the valid tokens of this node, without secrets", tokens)
      ->add_flag("--all", wanted->all, "Also list used, expired and withdrawn tokens");
  add(*token, "withdraw", "Withdraw a token", withdraw)
      ->add_option("ID", wanted->which, "Its identifier in the list")
      ->required()
      ->type_name("");
  auto* revoking = add(app, "revoke", "Revoke a node permanently", revoke);
  revoking->add_option("NODE", wanted->which, "Its name, or the first digits of its identifier")
      ->required()
      ->type_name("");
  revoking->add_flag("--with-admitted", wanted->with_admitted, "Also revoke every node that it admitted");
  add(app, "nodes", "List the nodes with links, memory and models", nodes);
  add(app, "models", "List all models of the mesh, and the nodes that have and serve them", models);
  auto* pulling = add(app, "pull", "Copy a model from another node to this disk", pull);
  pulling->add_option("MODEL", wanted->which, "Name of the model")->required()->type_name("");
  add(app, "copies", "List the copies to this node, with rates and errors", copies)
      ->add_option("--cancel", wanted->which, "Cancel that copy and remove its partial files; a complete copy stays")
      ->type_name("MODEL");
  add(app, "plan", "Show which node has or will have which model, and why", plan)
      ->add_option("MODEL", wanted->which, "For this model: layers per node, memory, speed, or what is missing")
      ->type_name("");
  auto* assigning = add(app, "assign", "Order a node to serve a model for the mesh", assign);
  assigning->add_option("NODE", wanted->which, "Its name, or the first digits of its identifier")
      ->required()
      ->type_name("");
  assigning
      ->add_option("MODEL", wanted->model,
                   "Name of the model; nothing: no model of the mesh; auto: the model of the plan")
      ->required()
      ->type_name("");
  add(app, "unload", "Unload a model on all nodes that have it for the mesh", unload)
      ->add_option("MODEL", wanted->which, "Name of the model; the next request loads it again")
      ->required()
      ->type_name("");
  add(app, "why", "Show which node would get a request for a model, and why the others would not", why)
      ->add_option("MODEL", wanted->which, "Name of the model")
      ->required()
      ->type_name("");
  add(app, "doctor", "Find problems: ports, links, versions, clocks, disk", doctor);
  add_table_flags(app);
  app.require_subcommand(0, 1);
  return [wanted, rows](CommandContext& context) {
    Subcommand chosen = status;
    for (const auto& [command, run] : *rows)
      if (command->parsed()) chosen = run;
    return chosen(*wanted, context);
  };
}

}  // namespace corral::cli
