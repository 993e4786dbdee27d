// Shared code that converts bodies of Ollama's API to canonical requests. Pure functions; safe on every thread.
#pragma once

#include <string>
#include <string_view>

#include "dialects/dialect.h"
#include "json/peek.h"
#include "json/writer.h"

namespace corral::dialects::ollama {

// Reads a body that fits `fields`. `make` converts it to the canonical request. Errors: those of protocol::check().
using Make = Result<Canonical> (*)(json::View body);
Result<Canonical> read(std::string text, const protocol::FieldTable& fields, Make make);

// For requests that only load or unload the model: about.model, keep.
Result<Canonical> only_keeping(json::View body);

// Writes "model", "stream", and the settings in options, format and think as members of the open object. `chat`: think
// has an effect.
void write_settings(json::Writer& out, json::View body, bool chat);

// Writes the supported members of `options` under their canonical names, into the open object.
void write_options(json::Writer& out, json::View options);

// Checks the canonical request by its table, and fills `about` and further facts from `body`. Errors have the client's
// names.
Result<Canonical> finished(std::string canonical, const protocol::FieldTable& table, json::View body);
// The same for a body with `prompt` and `images` instead of messages or inputs.
Result<Canonical> finished_prompt(std::string canonical, const protocol::FieldTable& table, json::View body);

// The body's name for a canonical one: "options.num_predict" for "max_tokens".
std::string own_name(std::string_view canonical, std::string_view code);

}  // namespace corral::dialects::ollama
