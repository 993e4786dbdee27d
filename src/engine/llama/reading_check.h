// Reads a model's file as a load would, up to where the weights begin: header, parameters, vocabulary, and which
// tensors there are of which shape. Starts no threads, opens nothing once it is prepared. For a process that may break:
// the bytes are a stranger's.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

#include "base/error.h"

namespace corral::engine {

// Makes what libllama makes once, and loads a compute backend; before a process is locked in. `on_abort` gets the
// reason where libllama would rather end the process than go on, and doesn't return.
void prepare_reading(void (*on_abort)(const char* reason));
// The first part of a model. Of one of several `parts` the tensors aren't compared, as the others would have to be
// opened for that; of any where no CPU's backend is found, neither they nor the parameters. Errors: load_failed, with
// libllama's own words.
Result<> check_reading_of_model(std::FILE* file, const std::string& name, std::size_t parts);
// Another part, or a projector: the header alone. Errors: the same.
Result<> check_reading_of_header(std::FILE* file, const std::string& name);

}  // namespace corral::engine
