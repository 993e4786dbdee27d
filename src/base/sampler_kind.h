// The steps of a sampling chain, with the names and letters of llama-server 0.5.0: requests and model files define an
// order with them. Its "infill" is missing: it belongs to an endpoint that doesn't exist here, and it compares every
// token with every other. Immutable; safe on every thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace corral {

enum class SamplerKind {
  penalties,
  dry,
  top_n_sigma,
  top_k,
  typical_p,
  top_p,
  min_p,
  xtc,
  temperature,
  adaptive_p,
};

// The default order.
std::span<const SamplerKind> default_samplers();

// "top_k".
std::string_view name_of(SamplerKind kind);

// Finds a step by its name ("top_k") or another spelling ("top-k", "TopK", "nucleus"); nothing for other texts.
std::optional<SamplerKind> sampler_named(std::string_view name);
// By its letter: 'k' is top_k.
std::optional<SamplerKind> sampler_lettered(char letter);

// For messages: "penalties (e), dry (d), ..."
std::string sampler_list();

}  // namespace corral
