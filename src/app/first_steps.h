// Hints in the log of a server without models. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/files/known_models.h"

namespace corral::app {

struct FirstPlaces {
  std::vector<std::filesystem::path> models_dirs;
  std::filesystem::path config_file;
  bool offline = false;  // no downloads
};

// Two log lines: how to download a model that fits a machine with this much memory for one model, and where to put a
// file.
std::array<std::string, 2> first_steps(const config::KnownModels& known, std::uint64_t room, const FirstPlaces& places);

}  // namespace corral::app
