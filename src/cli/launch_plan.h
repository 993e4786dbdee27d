// How to configure coding agents for a server: the variables, arguments and files of each. A table and a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace corral::cli {

struct LaunchRequest {
  std::string url;                          // of the server, without /v1
  std::string model;                        // the server's name for it
  std::string key;                          // "none" if the server needs no key
  std::string folder;                       // folder for files of the plan
  std::int64_t context = 131072;            // context of one conversation, in tokens
  std::vector<std::string> arguments = {};  // the user's own, after ours
};

struct LaunchPlan {
  std::string program;
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::vector<std::pair<std::string, std::string>> files = {};  // path and text
};

struct Agent {
  std::string_view name;     // as in `corral launch NAME`
  std::string_view program;  // the executable
  std::string_view install;  // how to get it
  // Smallest context in tokens. With less its first request doesn't fit, or it summarizes the conversation after each
  // step, without end.
  std::int64_t min_context;
  LaunchPlan (*plan)(const LaunchRequest& request);
};
std::span<const Agent> agents();
// nullptr: unknown name.
const Agent* find_agent(std::string_view name);

// The same as shell commands, after its files are written: exports of the variables, then the command.
std::string shell_text(const LaunchPlan& plan);
std::string json_text(const LaunchPlan& plan);
// The first executable file of that name in the folders of a PATH; empty: none.
std::string find_program(std::string_view name, std::string_view path);

}  // namespace corral::cli
