// The options of a load as backends know them; see config/load/load_options.h.
#pragma once

#include "config/load/load_options.h"

namespace corral::backends {

using config::context_of_request;
using config::fingerprint;
using config::LoadOptions;
using config::LoraFile;
using config::merge;
using config::parse_lora;

}  // namespace corral::backends
