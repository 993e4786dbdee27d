// The option changes of one load. Plain values.
#pragma once

#include <utility>
#include <vector>

#include "backends/load_options.h"
#include "config/load/llama_args.h"

namespace corral::router {

struct OptionPatch {
  OptionPatch(backends::LoadOptions values = {}, std::vector<const config::LoadOption*> without = {})
      : set(std::move(values)), unset(std::move(without)) {}

  // Applies the patch to the saved options of the model: removes `unset`, then adds `set`. Flags in `set`
  // (llamacpp_args) replace the saved flags, and the saved options that they name.
  backends::LoadOptions over(backends::LoadOptions saved) const {
    for (const auto* option : unset) config::unset(*option, saved);
    const auto effective = config::with_args(set);
    for (const auto& option : config::load_options()) {
      if (config::is_set(option, effective)) config::unset(option, saved);
    }
    return backends::merge(set, saved);
  }

  friend bool operator==(const OptionPatch&, const OptionPatch&) = default;

  backends::LoadOptions set;
  std::vector<const config::LoadOption*> unset;
};

}  // namespace corral::router
