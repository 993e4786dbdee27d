// Whether files that came from somebody else are the parts of one model: their headers are read to the end, with the
// bounds of gguf_metadata.h, and checked against each other. For a process that may break (proc/sandbox.h): the reader
// is ours, the bytes are a stranger's. Blocking; one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "models/byte_source.h"

namespace corral::models {

struct SuspectFile {
  std::string name;  // for messages
  std::unique_ptr<ByteSource> bytes;
};

// All parts in their order, the projector last if there is one. The sources are used up. Returns how many parts the
// model has. Errors: those of GgufReader; malformed: other parts than the first one says, or something that is no
// model. Messages name the file.
Result<std::size_t> inspect_files(std::span<SuspectFile> files);

}  // namespace corral::models
