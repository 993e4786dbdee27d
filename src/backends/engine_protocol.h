// What router and engine child say to each other over the control channel: one JSON object per line.
//
//   router → child   {"load":{…}}                          once
//   child → router   {"progress":0.4}                      any number of times while loading
//                    {"ready":{…}} or {"failed":{…}}       once
//                    {"estimate":{…}}                      instead of "ready" by a child started for just that
//   router → child   {"downsize":{}}                       any number of times
//   child → router   {"downsized":{…}}                     for each of them
//                    {"request_done":{…}}                  for every inference request from then on
//                    {"request":{…}}                       how far each one got, before any work is done for it
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

// A part of the model on another machine, whose worker is reached at an address of this one.
struct RemotePart {
  std::string name;      // of the machine
  std::string endpoint;  // "127.0.0.1:40123"
  double share = 0;      // of the layers, against the other parts and the engine's own
};

struct EngineLoad {
  std::string model;  // the public name
  std::string path;   // first file
  ModelType type = ModelType::llm;
  LoadOptions options;
  std::vector<RemotePart> remotes = {};  // in the order of their layers, which are the first ones
  double own_share = 0;                  // where there are remotes
  bool without_weights = false;          // to check requests, and serve none
};

struct EngineProgress {
  double fraction = 0;
};
struct EngineReady {
  std::uint64_t context_window = 0;
  std::string cpu_backend = {};  // the library it computes with; later children start faster when they are told
  Device device = Device::none;  // that holds its layers
  bool tells_requests = false;   // by EngineRequest
};
struct EngineFailed {
  // load_failed, load_out_of_memory, load_never_fits, model_file_not_found, backend_not_installed or invalid_option
  errc cause = errc::load_failed;
  std::string message;
  std::string param = {};               // the load option at fault, if one is
  std::vector<MemoryNeed> memory = {};  // for the causes of too little memory

  Error error() const;
};
// The answer to a downsize. Cells and compute memory come back with the next request.
struct EngineDownsized {
  bool done = false;  // false: something is being generated
  std::uint64_t sessions = 0;
  std::uint64_t parked_bytes = 0;  // of KV, kept in host memory
};
// A request was read, is ready for the model (not told of all kinds), or has ended.
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

// A MemoryEstimate as it goes over the wire, into a file and out to people: one JSON object.
void write(json::Writer& out, const MemoryEstimate& estimate);
MemoryEstimate read_memory_estimate(const json::Value& from);

}  // namespace corral::backends
