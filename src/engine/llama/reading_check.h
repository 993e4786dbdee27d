// Reads a model's file as a load does, up to the weights: header, parameters, vocabulary, names and shapes of tensors.
// Starts no threads, and opens nothing after its preparation. For a sandboxed process that may crash: the file comes
// from another user.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

#include "base/error.h"

namespace corral::engine {

// Creates libllama's global objects and loads a compute backend, before the process is sandboxed. `on_abort` gets the
// reason when libllama would abort the process, and does not return.
void prepare_reading(void (*on_abort)(const char* reason));
// Checks the first part of a model. If there are several `parts`, tensors are not compared, since that would open the
// other parts. Without a CPU backend, neither tensors nor parameters are checked. Errors: load_failed, with libllama's
// message.
Result<> check_reading_of_model(std::FILE* file, const std::string& name, std::size_t parts);
// Checks only the header: for another part, or a projector. Errors: the same.
Result<> check_reading_of_header(std::FILE* file, const std::string& name);

}  // namespace corral::engine
