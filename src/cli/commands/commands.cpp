#include <array>

#include "cli/commands/command.h"
#include "cli/errors.h"

namespace corral::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands = {
      Command{"list", "List the models that can be used", declare_list, false, "ls"},
      Command{"show", "Say what is known of a model: its files, its memory, its licence", declare_show},
      Command{"search", "Look for models that can be fetched", declare_search},
      Command{"pull", "Fetch a model to the server's machine", declare_pull},
      Command{"downloads", "List what is being fetched; pause it, go on, cancel it", declare_downloads},
      Command{"rm", "Remove a model's files, and say what that frees", declare_rm},
      Command{"alias", "Give a model another name, list such names or forget one", declare_alias},
      Command{"import", "Take over a GGUF file, or the models of Ollama or LM Studio", declare_import},
      Command{"ps", "List the models in memory, being loaded or waiting", declare_ps},
      Command{"events", "Print what changes in memory, as it changes", declare_events},
      Command{"stats", "Say what the last request and all of them have used", declare_stats},
      Command{"activity", "List what requests have come to, the last one first", declare_activity},
      Command{"status", "Say whether a server answers, and how it is doing", declare_status},
      Command{"load", "Load a model into memory", declare_load},
      Command{"estimate", "Say how much memory a model would take", declare_estimate},
      Command{"unload", "Take a model, or all of them, out of memory", declare_unload, false, "stop"},
      Command{"pin", "Keep a model in memory whatever else is loaded", declare_pin},
      Command{"unpin", "Let a pinned model go when its place is needed", declare_unpin},
      Command{"verify", "Read models' files again and say which are damaged", declare_verify},
      Command{"run", "Chat with a model, or have it answer one prompt", declare_run},
      Command{"launch", "Start a coding agent that uses this server", declare_launch},
      Command{"config", "List the settings of the server, or change them", declare_config},
      Command{"key", "Make keys for the server's clients, list or revoke them", declare_key, true},
      Command{"mesh", "Make several machines one endpoint: found a mesh, join one, see who is in it", declare_mesh},
      Command{"version", "Print the versions of the program and of the server", declare_version},
  };
  return kCommands;
}

Result<int> print_json(const Context& context, std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  context.terminal.out << text << '\n';
  return kExitOk;
}

}  // namespace corral::cli
