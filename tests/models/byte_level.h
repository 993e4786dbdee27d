// Byte-level BPE vocabularies spell each of the 256 bytes as a printable character (GPT-2's table: the printable bytes
// of Latin-1 stand for themselves, the others for U+0100 and up). These functions read that spelling. Pure.
#pragma once

#include <string>
#include <string_view>

namespace corral::test_models {

// The bytes that a token stands for: "Ġthe" -> " the", "ðŁ" -> F0 9F.
std::string token_bytes(std::string_view token);

// The spelling of raw bytes; the inverse of token_bytes.
std::string token_spelling(std::string_view bytes);

// Whole, valid UTF-8 without control characters, tabs or runs of white space: what a random model may say, so that its
// texts can be shown, cut and compared as text. A single line feed is plain.
bool is_plain_text(std::string_view bytes);

}  // namespace corral::test_models
