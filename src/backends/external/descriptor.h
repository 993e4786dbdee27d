// What is known of a program that serves models and isn't ours: how it is started, when it is ready, what it is asked
// at which path and in which words. A plain value, read from one TOML file (descriptor_file.h); every key of the file
// is a row of the table in descriptor_fields.h. A new server is a file and no code.
//
//   server   a process for each model, which listens on a port or a socket that it is told
//   exec     a process for each request: text goes in, its output is the answer
//   attach   something that runs already: nothing is started, stopped or evicted
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/model_type.h"
#include "base/recipe.h"
#include "protocol/ask.h"

namespace corral::backends {

enum class ServerKind : std::uint8_t { server, exec, attach };
enum class Listen : std::uint8_t { port, socket };
// How it is known to work: its program runs in our tests, or it was written from its documentation and only a played
// program was driven by it.
enum class Proved : std::uint8_t { real, contract };

std::string_view name_of(ServerKind kind);
std::string_view name_of(Listen listen);
std::string_view name_of(Proved proved);
std::string_view name_of(NpuUse use);

// Endpoints as descriptors name them: "chat/completions", "audio/speech".
std::string_view name_of(protocol::Ask ask);
std::optional<protocol::Ask> ask_named(std::string_view name);
std::string ask_names();

// Words of a command, with placeholders (placeholders.h) that are never split. Optional ones are left out as a whole
// where a placeholder among them has no value.
struct CommandPart {
  std::vector<std::string> words;
  bool optional = false;
  friend bool operator==(const CommandPart&, const CommandPart&) = default;
};
using Command = std::vector<CommandPart>;

struct Readiness {
  std::string path = "/health";
  unsigned status = 200;
  Millis deadline{0};  // 0: from the size of the model's files
};

// Bytes before anything was measured: so many for each byte of the model's files, and so many in any case.
struct MemoryRule {
  double per_file_byte = 1.2;
  std::uint64_t fixed = 256ull << 20;
};

struct Descriptor {
  std::string recipe;
  std::string title;
  std::vector<ModelType> types;  // the first is what a model without a telling label is
  ServerKind kind = ServerKind::server;

  std::string program;  // a name to be found (program_path.h), or an absolute path
  Command command;
  std::map<ModelType, std::vector<std::string>> type_args;  // {type_args} for models of this type
  std::string cwd;                                          // empty: a folder of its own
  std::map<std::string, std::string> env;  // with placeholders; one without a value leaves the variable out
  Command stop;                            // run instead of SIGTERM; what still runs after the grace is killed
  Listen listen = Listen::port;
  std::string url;  // attach: "http://127.0.0.1:11434"
  Readiness ready;
  bool watch = true;  // it is killed when it hangs; false for what can't answer while it works

  std::map<protocol::Ask, std::string> paths;
  std::string model_name = "{id}";             // sent upstream as "model"; empty: what the client said stays
  std::map<std::string, std::string> headers;  // sent along, with placeholders
  std::vector<std::string> strip;              // fields of a request that don't go to it
  std::map<std::string, std::string> set;      // fields that do, whatever the client said: JSON
  std::uint32_t concurrency = 0;               // requests it is given at once, others wait; 0: any number

  std::string input = "input";  // exec: the field of the request that goes to standard input
  std::string output;           // exec: the type of what comes out, "audio/wav"

  Device device = Device::cpu;     // unless a model's entry says otherwise; gpu counts where the machine has one
  Device possible = Device::none;  // what it may run on; none: `device`
  NpuUse npu = NpuUse::none;
  MemoryRule memory;
  std::vector<std::string> args;      // {args}
  std::vector<std::string> reserved;  // words that args may not have, as they are ours

  Proved proved = Proved::contract;
  std::string version;  // that it was written from, or runs in our tests
  std::string source;   // where its flags, paths and readiness stand
  std::string licence;
  std::string install;  // the command that installs it

  std::filesystem::path file;  // it was read from; empty: built in
};

// With what the table of recipes knows of it (base/recipe.h).
bool serves(const Descriptor& descriptor, ModelType type);

}  // namespace corral::backends
