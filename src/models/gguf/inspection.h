// Checks whether files from another node are the parts of one model: reads their headers completely, with the limits of
// gguf_metadata.h, and compares them. For a sandboxed process that may crash (proc/sandbox.h): the files are untrusted.
// Blocking; one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "models/gguf/byte_source.h"

namespace corral::models {

struct SuspectFile {
  std::string name;  // for messages
  std::unique_ptr<ByteSource> bytes;
};

// All parts in their order, the projector last if there is one. The sources are used up. Returns how many parts the
// model has. Errors: those of GgufReader; malformed: other parts than the first one lists, or not a model. Messages
// name the file.
Result<std::size_t> inspect_files(std::span<SuspectFile> files);

}  // namespace corral::models
