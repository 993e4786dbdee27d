// Which models read pictures and sound, with the options of their load. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/load_options.h"
#include "backends/wrapped_server.h"

namespace corral::router {

// The projector of a load: the one beside the model, a file that the option `mmproj` names, or none.
enum class Projector : std::uint8_t { own, named, none };
Projector projector_in(const backends::LoadOptions& options);

struct ModelMedia {
  bool pictures = false, sounds = false;
  bool sure = true;  // false: only the backend knows, so requests are left to it

  friend bool operator==(const ModelMedia&, const ModelMedia&) = default;
};
// What a model of this machine reads. A named projector is taken for one of pictures; its file is not read.
ModelMedia media_of(const models::ModelInfo& model, Projector projector);
// Of a model of another node, by what that node announces.
ModelMedia media_announced(const models::ModelInfo& model);
// Whether labels of a model say that it reads sound.
bool reads_sound(const std::vector<std::string>& labels);

// The labels of the model with this projector.
std::vector<std::string> labels_with(const models::ModelInfo& model, Projector projector);

}  // namespace corral::router
