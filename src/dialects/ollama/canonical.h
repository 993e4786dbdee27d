// What the bodies of Ollama's API have in common on their way to canonical requests. Pure functions; safe on every
// thread.
#pragma once

#include <string>
#include <string_view>

#include "dialects/dialect.h"
#include "json/peek.h"
#include "json/writer.h"

namespace corral::dialects::ollama {

// Reads a body that fits `fields`. `make`: its canonical request. Errors: those of protocol::check().
using Make = Result<Canonical> (*)(json::View body);
Result<Canonical> read(std::string text, const protocol::FieldTable& fields, Make make);

// Where nothing is asked of the model: about.model, keep.
Result<Canonical> only_keeping(json::View body);

// "model", "stream", and what options, format and think say, as members of the object that is open. `chat`: think has a
// meaning.
void write_settings(json::Writer& out, json::View body, bool chat);

// Checks what was made by the canonical table, and fills `about` and what `body` says beside. What is wrong is told in
// the names that the client knows.
Result<Canonical> finished(std::string canonical, const protocol::FieldTable& table, json::View body);
// The same of a body that has a `prompt` and `images` instead of messages or inputs.
Result<Canonical> finished_prompt(std::string canonical, const protocol::FieldTable& table, json::View body);

// The body's name for a canonical one: "options.num_predict" for "max_tokens".
std::string own_name(std::string_view canonical, std::string_view code);

}  // namespace corral::dialects::ollama
