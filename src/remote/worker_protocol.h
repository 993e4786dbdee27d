// What a worker process says on its control channel: one line, after which it serves until its parent goes.
//
//   worker → router   {"ready":{…}} or {"failed":{"message":…}}
//
// Started with kWorkerEnvironment: a process with threads gets no namespaces, and its allocator would start one.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "engine/llama/backends.h"

namespace corral::remote {

inline constexpr std::pair<std::string_view, std::string_view> kWorkerEnvironment = {"MALLOC_CONF",
                                                                                     "background_thread:false"};

struct WorkerReady {
  std::string llama = {};  // version of llama.cpp: both ends of a split need the same
  std::vector<engine::ComputeDevice> devices = {};
  std::vector<std::string> open = {};  // fences that don't stand around it, each with the reason
};
struct WorkerFailed {
  std::string message;
};
using WorkerEvent = std::variant<WorkerReady, WorkerFailed>;

std::string to_line(const WorkerEvent& event);
// Errors: those of json/; invalid_argument for a line of another protocol.
Result<WorkerEvent> parse_worker_event(std::string_view line);

}  // namespace corral::remote
