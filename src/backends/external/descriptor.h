// Description of an external program that serves models: how it starts, when it is ready, its paths and request format.
// A plain value, read from one TOML file (descriptor_reader.h); every key of the file is a row of the table in
// descriptor_fields.h. So a new server needs a file and no code.
//
//   server   a process for each model, which listens on the port or socket that it gets
//   exec     a process for each request: text goes in, its output is the response
//   attach   a server that already runs: nothing is started, stopped or evicted
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
// How it was tested: its program runs in our tests, or the descriptor follows its documentation and only a fake program
// was used.
enum class Proved : std::uint8_t { real, contract };
// How a request ends whose client has left.
enum class Cancel : std::uint8_t {
  close,    // its connection is closed: the program stops working on it
  restart,  // the program would continue, so it is started again
};
// Format of requests for images: OpenAI's, or that of stable-diffusion.cpp's server (sd_requests.h).
enum class ImageRequests : std::uint8_t { openai, sd_cpp };

std::string_view name_of(ServerKind kind);
std::string_view name_of(Listen listen);
std::string_view name_of(Proved proved);
std::string_view name_of(NpuUse use);
std::string_view name_of(Cancel cancel);
std::string_view name_of(ImageRequests requests);

// Endpoints as descriptors name them: "chat/completions", "audio/speech".
std::string_view name_of(protocol::Ask ask);
std::optional<protocol::Ask> ask_named(std::string_view name);
std::string ask_names();

// Words of a command, with placeholders (placeholders.h) that are never split. A group of optional words is left out if
// a placeholder in it has no value.
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

// Predicted bytes before the first measurement: bytes per byte of the model's files, and a fixed amount.
struct MemoryRule {
  double per_file_byte = 1.2;
  std::uint64_t fixed = 256ull << 20;
};

struct Descriptor {
  std::string recipe;
  std::string title;
  std::vector<ModelType> types;  // the first one is the default type of models without labels
  ServerKind kind = ServerKind::server;

  std::string program;  // a name to search for (program_path.h), or an absolute path
  Command command;
  std::map<ModelType, std::vector<std::string>> type_args;  // {type_args} for models of this type
  std::string cwd;                                          // empty: a folder of its own
  std::map<std::string, std::string> env;                   // with placeholders; a variable without a value is left out
  Command stop;  // run instead of SIGTERM; after the grace the process is killed
  Listen listen = Listen::port;
  std::string url;  // "http://127.0.0.1:11434"; server: empty, or with {port}: corral chooses the port
  Readiness ready;
  bool watch = true;  // killed when it hangs; false for programs that can't answer while they work

  std::map<protocol::Ask, std::string> paths;
  std::string model_name = "{id}";             // sent as "model"; empty: the client's value stays
  std::map<std::string, std::string> headers;  // sent with each request, with placeholders
  std::vector<std::string> strip;              // fields of a request that are removed
  std::map<std::string, std::string> set;      // fields that are added or replaced: JSON
  std::uint32_t concurrency = 0;               // limit of simultaneous requests, others wait; 0: none
  Millis request_timeout{600'000};             // of a request for which the program takes and sends no byte
  Cancel cancel = Cancel::close;
  ImageRequests image_requests = ImageRequests::openai;

  std::string input = "input";  // exec: the field of the request that is sent to standard input
  std::string output;           // exec: the content type of the output, "audio/wav"

  Device device = Device::cpu;     // unless a model's entry sets it; gpu applies if the machine has one
  Device possible = Device::none;  // devices that it may use; none: `device`
  NpuUse npu = NpuUse::none;
  MemoryRule memory;
  std::vector<std::string> args;      // {args}
  std::vector<std::string> reserved;  // words that args may not have, because corral sets them

  Proved proved = Proved::contract;
  std::string version;  // of the documentation, or of the program in our tests
  std::string source;   // the documentation of its flags, paths and readiness
  std::string licence;
  std::string install;  // the command that installs it

  std::filesystem::path file;  // where it was read; empty: built in
};

// With the row of the recipe table (base/recipe.h).
bool serves(const Descriptor& descriptor, ModelType type);
// Whether corral chooses the port or socket of its process.
bool chooses_port(const Descriptor& descriptor);
// Its `url` with this port.
std::string url_at(const Descriptor& descriptor, std::uint16_t port);

}  // namespace corral::backends
