// What a file of sound is, by its first bytes: names of files and types that clients say are often wrong. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace corral::dialects::audio {

enum class SoundKind : std::uint8_t { wav, mp3, flac, vorbis, opus, webm, mp4, aac, amr, aiff, unknown };

// `head`: as much as there is, a few hundred bytes at best.
SoundKind kind_of(std::string_view head);
// What every backend that hears can read: wav, mp3, flac, ogg with Vorbis. Others have to be converted.
bool is_plain(SoundKind kind);
// For people: "webm (Matroska)".
std::string_view name_of(SoundKind kind);
// Of a plain one: "audio/wav" and the end of a file's name, "wav".
std::string_view content_type_of(SoundKind kind);
std::string_view extension_of(SoundKind kind);

}  // namespace corral::dialects::audio
