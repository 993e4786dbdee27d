// What the head of a whisper.cpp file says: "ggml-base.en.bin" and the like, a format of its own that is older than
// GGUF. Many programs call their files .bin: whatever isn't one of these is no model, and nothing is wrong with it.
// Blocking file access.
#pragma once

#include <filesystem>

#include "models/gguf_facts.h"

namespace corral::models {

// By its name alone.
bool may_be_whisper(const std::filesystem::path& path);

// FileKind::other for files of other programs. Errors: truncated: it begins as one, and ends before its tensors;
// file_not_found, unreadable.
Result<GgufFacts> read_whisper_facts(ByteSource& source);
Result<GgufFacts> read_whisper_facts(const std::filesystem::path& path);

}  // namespace corral::models
