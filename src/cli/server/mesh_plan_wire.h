// Parses the server's allocation into structs. Pure functions; errors of the parsers: bad_answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::cli {

// Words instead of a model's name.
inline constexpr std::string_view kNothing = "nothing", kAuto = "auto";

// The plan of the whole mesh, or of one model.
struct MeshPlan {
  struct Assignment {
    std::string node = {}, model = {}, part = {}, why = {};
  };
  struct Share {
    std::string node = {}, id = {};
    std::int64_t layers = 0;
    std::uint64_t memory = 0;
  };
  struct Split {
    std::string host = {}, host_id = {};
    std::vector<Share> shares = {};
    double tokens_per_second = 0, load_seconds = 0;
    std::int64_t context = 0;  // tokens; 0: unknown
  };
  struct Group {
    std::string host = {}, host_id = {}, stage = {}, problem = {};
    bool running = false;
    std::vector<Share> shares = {};
    std::int64_t context = 0;  // tokens, once it serves
  };
  std::vector<Assignment> assignments = {};
  std::vector<std::string> unloads = {}, unserved = {}, unsplit = {};  // sentences
  // Of one model:
  std::string model = {};
  std::vector<Group> groups = {};
  std::uint64_t need = 0;
  std::string alone = {};  // a node that can load it alone
  std::optional<Split> split = {};
  std::string shortage = {};
};
Result<MeshPlan> parse_mesh_plan(std::string_view text);

struct MeshUnload {
  std::vector<std::string> nodes = {}, refused = {};
};
Result<MeshUnload> parse_mesh_unload(std::string_view text);

// What an assigned model waits for, as a sentence; empty: nothing.
Result<std::string> parse_assigned(std::string_view text);
std::string assign_body(std::string_view node, std::string_view model);
std::string mesh_unload_body(std::string_view model);

}  // namespace corral::cli
