// What a worker process says on its control channel: one line, after which it serves until its parent goes. Whatever
// line it is sent while it serves it answers with a sign of life.
//
//   worker → router   {"ready":{…}} or {"failed":{"message":…}}
//   router → worker   {"ask":"alive"}
//   worker → router   {"alive":true}
//
// Started with kWorkerEnvironment: a process with threads gets no namespaces, and its allocator would start one. And
// large pages where the system has them: it reads all of its weights for each token (measured: a tenth to a sixth less
// time), and they come over a network, so that getting such pages is no part of what a load waits for.
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
  std::string llama = {};  // version of llama.cpp: both ends of a split need the same
  std::vector<engine::ComputeDevice> devices = {};
  std::vector<std::string> open = {};  // fences that don't stand around it, each with the reason
};
struct WorkerFailed {
  std::string message;
};
inline constexpr std::string_view kAskAlive = R"({"ask":"alive"})", kAlive = R"({"alive":true})";

using WorkerEvent = std::variant<WorkerReady, WorkerFailed>;

std::string to_line(const WorkerEvent& event);
// Errors: those of json/; invalid_argument for a line of another protocol, and for a device of a size that makes no
// sense, which it names.
Result<WorkerEvent> parse_worker_event(std::string_view line);

}  // namespace corral::remote
