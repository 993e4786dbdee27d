// The checks of `corral doctor`: from facts to lines that say what is right, and what to do otherwise. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/doctor/machine_facts.h"
#include "cli/server/mesh_wire.h"
#include "cli/server/reply_parser.h"

namespace corral::cli {

enum class Verdict { ok, skipped, warning, failed };
std::string_view name_of(Verdict verdict);

struct Check {
  Verdict verdict = Verdict::ok;
  std::string topic;
  std::string text;
  std::string todo = {};  // a command or an action; empty: nothing
};

// How the server at the address behaved.
enum class ServerAnswer { none, silent, foreign, loading, needs_key, full };

struct DoctorFacts {
  std::string version;
  std::vector<std::pair<std::string, std::string>> components = {};
  std::string file = {};              // the configuration file
  bool is_file_closed = false;        // only another user can read it
  std::string settings_problem = {};  // empty: the settings are valid
  MachineFacts machine = {};
  std::string url = {};
  ServerAnswer answer = ServerAnswer::none;
  Health health = {};                   // of a full answer
  std::optional<std::string> hub = {};  // unset: not asked; empty: it responds; else the problem
  std::vector<MeshFinding> mesh = {};   // empty: in no mesh, or not asked
};

std::vector<Check> check_all(const DoctorFacts& facts);
bool has_failed(const std::vector<Check>& checks);

}  // namespace corral::cli
