#include "config/load/default_options.h"

#include <algorithm>
#include <array>

#include "config/load/llama_args.h"

namespace corral::config {
namespace {

using S = ServeSettings;
using L = LoadOptions;

constexpr std::string_view kArgs = "llamacpp_args";

// A load option with the setting `setting`.
struct Default {
  std::string_view key;
  std::string_view setting;
  void (*take)(const S& settings, L& options);
};

constexpr std::array kDefaults = {
    Default{"ctx_size", "ctx_size", [](const S& from, L& to) { to.ctx_size = from.ctx_size; }},
    Default{"threads", "threads", [](const S& from, L& to) { to.threads = from.threads; }},
    Default{"parallel", "parallel", [](const S& from, L& to) { to.parallel = from.parallel; }},
    Default{"speculative", "speculative", [](const S& from, L& to) { to.speculative = from.speculative; }},
    Default{"llamacpp_backend", "llamacpp_backend",
            [](const S& from, L& to) { to.llamacpp_backend = from.llamacpp_backend; }},
    Default{"chat_template", "chat_template",
            [](const S& from, L& to) {
              if (!from.chat_template.empty()) to.chat_template = from.chat_template;
            }},
    Default{"park_bytes", "park_mib", [](const S& from, L& to) { to.park_bytes = std::int64_t{from.park_mib} << 20; }},
    Default{"auto_evict", "auto_evict", [](const S& from, L& to) { to.auto_evict = from.auto_evict; }},
    Default{"downsize_idle_timeout", "downsize_idle_timeout",
            [](const S& from, L& to) { to.downsize_idle_timeout = from.downsize_idle_timeout; }},
    Default{"evict_idle_timeout", "evict_idle_timeout",
            [](const S& from, L& to) { to.evict_idle_timeout = from.evict_idle_timeout; }},
    Default{"evict_weight_factor", "evict_weight_factor",
            [](const S& from, L& to) { to.evict_weight_factor = from.evict_weight_factor; }},
};

const Origin* given(std::string_view setting, const S& settings) {
  const auto origin = settings.origins.find(setting);
  return origin == settings.origins.end() || origin->second.source == Source::fallback ? nullptr : &origin->second;
}

// The check of its row has accepted the text.
L options_of_args(const S& settings) { return parse_llama_args(settings.llamacpp_args).value_or(L()); }

L defaults_with(const S& settings, const L& args) {
  L configured, otherwise;
  for (const Default& row : kDefaults) row.take(settings, given(row.setting, settings) ? configured : otherwise);
  auto options = merge(configured, merge(args, otherwise));
  if (settings.park_on_disk) options.park_dir = (settings.state_dir / "parked").native();
  return options;
}

}  // namespace

LoadOptions default_load_options(const ServeSettings& settings) {
  return defaults_with(settings, options_of_args(settings));
}

LoadOptions default_load_options_without_args(const ServeSettings& settings) { return defaults_with(settings, L()); }

std::string default_origin(const LoadOption& option, const ServeSettings& settings) {
  const auto row = std::ranges::find(kDefaults, option.key, &Default::key);
  const Origin* origin = row == kDefaults.end() ? nullptr : given(row->setting, settings);
  if (!origin && is_set(option, options_of_args(settings))) origin = given(kArgs, settings);
  return origin ? origin->where : "default";
}

}  // namespace corral::config
