// Facts that only the files of a model have, for GET models/{id}?details=true: its other names, the size and hash of
// each file, the licence and the chat template.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "api/supply/context.h"
#include "json/writer.h"

namespace corral::api {

struct ModelFile {
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  std::string sha256;  // empty: unknown
};

struct ModelDetails {
  std::vector<ModelFile> files = {};  // the parts in order, then the projector
  std::string licence = {};           // general.license
  std::optional<std::string> chat_template = {};
};

// Reads the header of the first file, on a thread. The hash comes from the name of the blob, the last verification, or
// the mesh; this function hashes nothing.
async::Task<ModelDetails> details_of(SupplyContext& context, backends::ModelPtr model);

// "files", "licence" and "chat_template" as members. `paths`: with the paths of files, otherwise only with
// their names.
void write_details(json::Writer& out, const ModelDetails& details, bool paths);

}  // namespace corral::api
