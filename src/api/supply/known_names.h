// The short names of known models (config/files/known_models.h) in requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/supply/context.h"

namespace corral::api {

// "org/repo:Q8_0" for a known name; every other name stays as it is.
std::string source_of(const SupplyContext& context, std::string name);

// The type of a known model, by its short name or by its source. Nothing: unknown before the download.
std::optional<ModelType> known_type(const SupplyContext& context, std::string_view name);

// For a name without '/' that isn't a source: adds close names, Ollama's library and the search. Other errors stay
// unchanged.
Error with_way_on(const SupplyContext& context, Error error, std::string_view name);

}  // namespace corral::api
