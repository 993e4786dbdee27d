// OpenAI's images/generations, images/edits and images/variations. A request is checked before its model is loaded. It
// becomes a canonical request without `n` and `seed`: an answer may take several calls of the backend, each of which
// makes some of the images (call_body, call_form). Backends always send images as base64.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dialects/dialect.h"
#include "dialects/form.h"

namespace corral::dialects::images {

// In Canonical::facts.
struct ImagesAsked {
  unsigned n = 1;
  std::optional<std::int64_t> seed = {};  // of the first image; nothing: random
  bool url = false;                       // URLs instead of base64
  bool stream = false;
  bool is_generation = true;  // else of a given image: the names of events differ
  // As the client gave them; empty: not given.
  std::string size = {}, quality = {};
  std::string format = "png";
};
const ImagesAsked& asked_of(const Canonical& request);

// Errors: those of protocol::check(), with the field's name.
Result<Canonical> read_generation(std::string body);
Result<Canonical> read_edit(Form form);
Result<Canonical> read_variation(Form form);

// The request of one call: `n` images, after `done` ones of earlier calls.
std::string call_body(const Canonical& request, unsigned n, unsigned done);
std::shared_ptr<Form> call_form(const Canonical& request, unsigned n, unsigned done);

}  // namespace corral::dialects::images
