// Messages of a worker process on its control channel: one line, after which it serves until its parent ends. It
// answers each line that it gets while it serves.
//
//   worker → router   {"ready":{…}} or {"failed":{"message":…}}
//   router → worker   {"ask":"alive"}
//   worker → router   {"alive":true}
//
// The process starts with kWorkerEnvironment: a process with threads gets no namespaces, and its allocator would start
// one. Also huge pages if the system has them: the worker reads all of its weights for each token (measured: a tenth to
// a sixth less time). The weights come over a network, so allocating such pages doesn't delay the load.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "engine/llama/backends.h"

namespace corral::remote {

inline constexpr std::pair<std::string_view, std::string_view> kWorkerEnvironment = {
    "MALLOC_CONF", "background_thread:false,thp:always"};

struct WorkerReady {
  std::string llama = {};  // version of llama.cpp: host and worker need the same
  std::vector<engine::ComputeDevice> devices = {};
  std::vector<std::string> open = {};  // missing sandbox features, each with the reason
};
struct WorkerFailed {
  std::string message;
};
inline constexpr std::string_view kAskAlive = R"({"ask":"alive"})", kAlive = R"({"alive":true})";

using WorkerEvent = std::variant<WorkerReady, WorkerFailed>;

std::string to_line(const WorkerEvent& event);
// Errors: those of json/; invalid_argument for a line of another protocol, and for a device with an invalid size, which
// it names.
Result<WorkerEvent> parse_worker_event(std::string_view line);

}  // namespace corral::remote
