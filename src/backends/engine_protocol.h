// What router and engine child say to each other over the control channel: one JSON object per line.
//
//   router → child   {"load":{…}}                          once
//   child → router   {"progress":0.4}                      any number of times while loading
//                    {"ready":{…}} or {"failed":{…}}       once
//                    {"request_done":{…}}                  for every inference request from then on
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "backends/load_options.h"
#include "backends/wrapped_server.h"
#include "base/error.h"
#include "base/model_type.h"

namespace corral::backends {

struct EngineLoad {
  std::string model;  // the public name
  std::string path;   // first file
  ModelType type = ModelType::llm;
  LoadOptions options;
};

struct EngineProgress {
  double fraction = 0;
};
struct EngineReady {
  std::uint64_t context_window = 0;
};
struct EngineFailed {
  errc cause = errc::load_failed;  // load_failed, load_out_of_memory, model_file_not_found or invalid_option
  std::string message;
};
using EngineEvent = std::variant<EngineProgress, EngineReady, EngineFailed, RequestStats>;

std::string to_line(const EngineLoad& load);
std::string to_line(const EngineEvent& event);
// Errors: those of json/, or load_failed for a line of another protocol.
Result<EngineLoad> parse_engine_load(std::string_view line);
Result<EngineEvent> parse_engine_event(std::string_view line);

}  // namespace corral::backends
