// Reads a model's file as a load would, up to where the weights begin: header, parameters, vocabulary. Needs no compute
// backends, starts no threads, opens nothing. For a process that may break: the bytes are a stranger's.
#pragma once

#include <cstdio>
#include <string>

#include "base/error.h"

namespace corral::engine {

// Makes what libllama makes once; before a process is locked in. `on_abort` gets the reason where libllama would rather
// end the process than go on, and doesn't return.
void prepare_reading(void (*on_abort)(const char* reason));
// The first part of a model. Errors: load_failed, with libllama's own words.
Result<> check_reading_of_model(std::FILE* file, const std::string& name);
// Another part, or a projector: the header alone. Errors: the same.
Result<> check_reading_of_header(std::FILE* file, const std::string& name);

}  // namespace corral::engine
