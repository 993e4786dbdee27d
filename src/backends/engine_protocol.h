// The control channel between router and engine process: one JSON object per line.
//
//   router → engine  {"load":{…}}                          once
//   engine → router  {"progress":0.4}                      any number of times while loading
//                    {"ready":{…}} or {"failed":{…}}       once
//                    {"estimate":{…}}                      instead of "ready", by a process for estimates only
//   router → engine  {"downsize":{}}                       any number of times
//   engine → router  {"downsized":{…}}                     for each of them
//                    {"request_done":{…}}                  for every inference request from then on
//                    {"request":{…}}                       state of each request, sent before the work on it
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/load_options.h"
#include "backends/wrapped_server.h"
#include "base/error.h"
#include "base/memory_estimate.h"
#include "base/model_type.h"
#include "json/value.h"
#include "json/writer.h"

namespace corral::backends {

// A part of the model on another node, whose RPC worker is reachable at a local address.
struct RemotePart {
  std::string name;      // of the node
  std::string endpoint;  // "127.0.0.1:40123"
  double share = 0;      // of the layers, relative to the other parts and the engine's own
};

struct EngineLoad {
  std::string model;  // the public name
  std::string path;   // first file
  ModelType type = ModelType::llm;
  LoadOptions options;
  std::vector<RemotePart> remotes = {};  // in the order of their layers, which are the first ones
  double own_share = 0;                  // used if there are remotes
  bool without_weights = false;          // for a checker of requests
  std::string mmproj = {};               // file of the projector, for pictures and sounds; empty: none
  bool mmproj_offload = true;            // to a GPU, if the load has one
};

struct EngineProgress {
  double fraction = 0;
};
struct EngineReady {
  std::uint64_t context_window = 0;
  std::string cpu_backend = {};  // the library that it computes with; with it, later processes start faster
  Device device = Device::none;  // that has its layers
  bool sends_requests = false;   // it sends EngineRequest
};
struct EngineFailed {
  // load_failed, load_out_of_memory, load_never_fits, model_file_not_found, backend_not_installed or invalid_option
  errc cause = errc::load_failed;
  std::string message;
  std::string param = {};               // the load option at fault, if any
  std::vector<MemoryNeed> memory = {};  // for causes of too little memory

  Error error() const;
};
// The answer to a downsize. The next request restores cells and compute memory.
struct EngineDownsized {
  bool done = false;  // false: a generation runs
  std::uint64_t sessions = 0;
  std::uint64_t parked_bytes = 0;  // of KV, kept in host memory
};
// A request was read, is ready for the model (not reported for all kinds), or has ended.
struct EngineRequest {
  enum class State { read, prepared, ended };
  std::string id;
  State state = State::read;
};
using EngineEvent = std::variant<EngineProgress, EngineReady, EngineFailed, EngineDownsized, RequestStats,
                                 EngineRequest, MemoryEstimate>;

std::string to_line(const EngineLoad& load);
std::string to_line(const EngineEvent& event);
std::string downsize_line();
bool is_downsize(std::string_view line);
// Errors: those of json/, or load_failed for a line of another protocol.
Result<EngineLoad> parse_engine_load(std::string_view line);
Result<EngineEvent> parse_engine_event(std::string_view line);

// A MemoryEstimate on the control channel, in a file and for users: one JSON object.
void write(json::Writer& out, const MemoryEstimate& estimate);
MemoryEstimate read_memory_estimate(const json::Value& from);

}  // namespace corral::backends
