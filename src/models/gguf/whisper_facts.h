// Reads the head of a whisper.cpp file ("ggml-base.en.bin"), a format that is older than GGUF. Many programs have .bin
// files: other ones are no models, which is no fault. Blocking file access.
#pragma once

#include <filesystem>

#include "models/gguf/gguf_facts.h"

namespace corral::models {

// By its name alone.
bool may_be_whisper(const std::filesystem::path& path);

// FileKind::other for files of other programs. Errors: truncated (the file ends before its tensors); file_not_found,
// unreadable.
Result<GgufFacts> read_whisper_facts(ByteSource& source);
Result<GgufFacts> read_whisper_facts(const std::filesystem::path& path);

}  // namespace corral::models
