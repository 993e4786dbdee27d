// Parses the server's answers about its mesh into structs. Pure functions; errors of the parsers: bad_answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::cli {

struct MeshStatus {
  std::string status = {};  // "none", "joining", "member", "revoked", "broken"
  std::string mesh_id = {};
  std::string node_id = {}, name = {}, role = {};
  std::string listening = {};
  std::vector<std::string> addresses = {};
  std::int64_t members = 0, routable = 0, open_tokens = 0;
  std::string problem = {};
  std::vector<std::string> groups = {};  // "big over a (16 layers), b (16 layers): ready"
  std::string share = {};                // "4.1 GiB for big of a: ready"; empty: none
};
Result<MeshStatus> parse_mesh(std::string_view text);

struct MeshNode {
  std::string id = {}, name = {}, role = {}, version = {};
  bool self = false, routable = false;
  std::string last_end = {};
  std::vector<std::string> addresses = {};
  std::optional<std::int64_t> rtt_ms = {};
  std::uint64_t memory_total = 0, memory_free = 0;  // of all devices
  std::int64_t models = 0;
  std::vector<std::string> serving = {};  // "tiny-llama", "big (loading)"
};
Result<std::vector<MeshNode>> parse_mesh_nodes(std::string_view text);

struct MeshModel {
  std::string name = {}, type = {}, status = {}, host = {};
  std::uint64_t size = 0;
  std::vector<std::string> on_disk = {}, serving = {};  // names of nodes
};
Result<std::vector<MeshModel>> parse_mesh_models(std::string_view text);

struct MeshToken {
  std::string id = {}, state = {}, used_by = {};
  std::int64_t issued = 0, expires = 0;  // epoch milliseconds
  std::string text = {};                 // only of a new token
  std::vector<std::string> addresses = {};
};
Result<MeshToken> parse_mesh_token(std::string_view text);
Result<std::vector<MeshToken>> parse_mesh_tokens(std::string_view text);

// The node that a request would get, and the reasons against others.
struct MeshChoice {
  std::string model = {}, status = {}, node = {}, rank = {}, shortage = {};
  bool here = false;
  std::vector<std::string> split_over = {};  // no node serves it, but a request splits it over these nodes, host first
  struct Candidate {
    std::string name = {}, rank = {}, text = {};
  };
  std::vector<Candidate> candidates = {};
  std::vector<std::string> allocation = {};  // sentences: which nodes should have it, and why
};
Result<MeshChoice> parse_mesh_choice(std::string_view text);

struct MeshFinding {
  std::string verdict = {}, step = {}, node = {}, text = {};
};
Result<std::vector<MeshFinding>> parse_mesh_findings(std::string_view text);

// A copy to the server's disk.
struct MeshCopy {
  std::string model = {}, content = {}, state = {}, from = {}, problem = {};
  std::uint64_t done = 0, total = 0, bytes_per_second = 0;
};
Result<MeshCopy> parse_mesh_copy(std::string_view text);
Result<std::vector<MeshCopy>> parse_mesh_copies(std::string_view text);

struct JoinStep {
  std::string step = {}, address = {};
  std::int64_t limit_ms = 0;
};
Result<JoinStep> parse_join_step(std::string_view text);

std::string pull_body(const std::string& model, bool stream);
std::string join_body(std::string_view token, bool stream);
std::string token_body(std::int64_t seconds);
std::string revoke_body(const std::string& node, bool with_admitted);

}  // namespace corral::cli
