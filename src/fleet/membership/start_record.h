// What `corral serve --join` made of this node: a worker, and for which models. Kept in the mesh's folder, so that a
// restart without these flags resumes the same node. The functions block for one small file: only at a start, and when
// this node enters a mesh.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fleet/base/node_options.h"

namespace corral::fleet {

inline constexpr const char* kStartFile = "start.json";

struct StartRecord {
  bool worker = false;
  std::vector<std::string> models = {};  // mesh_models
  std::string assigned = {};             // NodeOptions::assigned_at_start
  friend bool operator==(const StartRecord&, const StartRecord&) = default;
};

// Of a node that was started with --join. Models of a file of settings aren't in it: the next start reads them there.
StartRecord record_of(const NodeOptions& options);
// The options of a start without --join, with the record wherever they leave something open. Pure.
NodeOptions with_record(NodeOptions options, const StartRecord& record);

std::string to_text(const StartRecord& record);
// nullopt: it is no record.
std::optional<StartRecord> parse_start(std::string_view text);

// nullopt: there is none, or it is unreadable, which is logged.
std::optional<StartRecord> read_start(const std::filesystem::path& folder);
// A failure is logged: the node works all the same until its next start.
void keep_start(const std::filesystem::path& folder, const StartRecord& record);

}  // namespace corral::fleet
