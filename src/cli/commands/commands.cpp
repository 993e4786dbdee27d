#include <array>

#include "cli/commands/command.h"
#include "cli/errors.h"

namespace corral::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands = {
      Command{"list", "List the available models", declare_list, false, "ls"},
      Command{"show", "Show a model: its files, memory, licence", declare_show},
      Command{"search", "Search for models to download", declare_search},
      Command{"pull", "Download a model to the server's machine", declare_pull},
      Command{"downloads", "List downloads; pause, resume or cancel one", declare_downloads},
      Command{"rm", "Remove a model's files, and show the freed space", declare_rm},
      Command{"alias", "Create, list or remove aliases of models", declare_alias},
      Command{"import", "Import a GGUF file, or list the models of Ollama or LM Studio", declare_import},
      Command{"unimport", "Stop listing the models of Ollama or LM Studio", declare_unimport},
      Command{"ps", "List the models that are in memory, loading or waiting", declare_ps},
      Command{"top", "Show models in memory, memory and requests, live", declare_top},
      Command{"events", "Print events of models in memory as they occur", declare_events},
      Command{"stats", "Show token usage, last request and total", declare_stats},
      Command{"requests", "List the requests that run or wait", declare_requests},
      Command{"cancel", "Cancel running or waiting requests", declare_cancel},
      Command{"logs", "Print the log of the server, or the output of a model's process", declare_logs},
      Command{"activity", "List the results of finished requests, newest first", declare_activity},
      Command{"status", "Show whether a server responds, and its state", declare_status},
      Command{"doctor", "Check the machine, the server and its files, and show what to do", declare_doctor},
      Command{"load", "Load a model into memory", declare_load},
      Command{"estimate", "Show how much memory a model needs", declare_estimate},
      Command{"unload", "Unload a model, or all models", declare_unload, false, "stop"},
      Command{"pin", "Pin a model, so that it is never evicted automatically", declare_pin},
      Command{"unpin", "Unpin a model, so that it can be evicted", declare_unpin},
      Command{"verify", "Verify models' files and list damaged ones", declare_verify},
      Command{"run", "Chat with a model, or run one prompt", declare_run},
      Command{"transcribe", "Print the text of a sound file", declare_transcribe},
      Command{"speak", "Generate speech from a text", declare_speak},
      Command{"bench", "Measure the speed of a model", declare_bench},
      Command{"launch", "Start a coding agent that uses this server", declare_launch},
      Command{"config", "List or change the settings of the server", declare_config},
      Command{"key", "Create, list or revoke API keys", declare_key, true},
      Command{"mesh", "Combine several machines into one endpoint: found or join a mesh, list its nodes", declare_mesh},
      Command{"version", "Print the versions of the program and the server", declare_version},
  };
  return kCommands;
}

Result<int> print_json(const CommandContext& context, std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  context.terminal.out << text << '\n';
  return kExitOk;
}

}  // namespace corral::cli
