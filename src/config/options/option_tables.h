// The parts of the table that options() puts together.
#pragma once

#include <span>

#include "config/options/option.h"

namespace corral::config {

std::span<const Option> access_options();
std::span<const Option> models_options();
std::span<const Option> mesh_options();
std::span<const Option> store_options();
std::span<const Option> process_options();

}  // namespace corral::config
