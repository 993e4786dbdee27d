// How coding agents are told to use a server: the variables, arguments and files of each. A table and a pure function.
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
  std::string model;                        // as the server calls it
  std::string key;                          // "none" where none is asked for
  std::string folder;                       // where files of the plan may stand
  std::int64_t context = 131072;            // tokens that a conversation may have
  std::vector<std::string> arguments = {};  // the user's own, behind ours
};

struct LaunchPlan {
  std::string program;
  std::vector<std::string> arguments = {};
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::vector<std::pair<std::string, std::string>> files = {};  // path and text
};

struct Agent {
  std::string_view name;     // as in `corral launch NAME`
  std::string_view program;  // what is started
  std::string_view install;  // how to get it
  LaunchPlan (*plan)(const LaunchRequest& wish);
};
std::span<const Agent> agents();
// nullptr: there is none of that name.
const Agent* find_agent(std::string_view name);

// What to type for the same, once its files are written: exports of the variables, then the command.
std::string shell_text(const LaunchPlan& plan);
std::string json_text(const LaunchPlan& plan);
// The first file of that name in the folders of a PATH that may be run; empty: there is none.
std::string find_program(std::string_view name, std::string_view path);

}  // namespace corral::cli
