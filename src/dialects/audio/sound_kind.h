// Detects the format of a sound file by its first bytes, because file names and content types of clients are often
// wrong. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace corral::dialects::audio {

enum class SoundKind : std::uint8_t { wav, mp3, flac, vorbis, opus, webm, mp4, aac, amr, aiff, unknown };

// `head`: the first bytes, best a few hundred.
SoundKind kind_of(std::string_view head);
// Formats that every transcription backend can read: wav, mp3, flac, ogg with Vorbis. Other formats are converted.
bool is_plain(SoundKind kind);
// For people: "webm (Matroska)".
std::string_view name_of(SoundKind kind);
// For a plain format: "audio/wav" and the file extension, "wav".
std::string_view content_type_of(SoundKind kind);
std::string_view extension_of(SoundKind kind);

}  // namespace corral::dialects::audio
