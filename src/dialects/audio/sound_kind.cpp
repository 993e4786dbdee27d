#include "dialects/audio/sound_kind.h"

#include <array>
#include <cstddef>

namespace corral::dialects::audio {
namespace {

struct KindRow {
  std::string_view name, type, extension;
  bool plain;
};
// In the order of SoundKind.
constexpr auto kRows = std::to_array<KindRow>({
    {"wav", "audio/wav", "wav", true},
    {"mp3", "audio/mpeg", "mp3", true},
    {"flac", "audio/flac", "flac", true},
    {"ogg (Vorbis)", "audio/ogg", "ogg", true},
    {"ogg (Opus)", "audio/ogg", "ogg", false},
    {"webm (Matroska)", "audio/webm", "webm", false},
    {"mp4 (m4a)", "audio/mp4", "m4a", false},
    {"aac", "audio/aac", "aac", false},
    {"amr", "audio/amr", "amr", false},
    {"aiff", "audio/aiff", "aiff", false},
    {"of an unknown format", "application/octet-stream", "bin", false},
});

const KindRow& row_of(SoundKind kind) { return kRows[static_cast<std::size_t>(kind)]; }

// The first frame of MPEG audio: eleven bits, then a layer; AAC in ADTS has the same ones and no layer.
bool is_frame(std::string_view head, bool layer) {
  if (head.size() < 2) return false;
  const auto second = static_cast<unsigned char>(head[1]);
  return static_cast<unsigned char>(head[0]) == 0xff && (second & 0xe0) == 0xe0 && ((second & 0x06) != 0) == layer;
}

}  // namespace

SoundKind kind_of(std::string_view head) {
  const auto has = [head](std::size_t at, std::string_view bytes) {
    return head.size() >= at && head.substr(at).starts_with(bytes);
  };
  if ((has(0, "RIFF") || has(0, "RF64") || has(0, "RIFX")) && has(8, "WAVE")) return SoundKind::wav;
  if (has(0, "fLaC")) return SoundKind::flac;
  if (has(0, "ID3")) return SoundKind::mp3;
  if (has(0, "OggS")) {
    const auto first_page = head.substr(0, 256);
    if (first_page.find("\x01vorbis") != std::string_view::npos) return SoundKind::vorbis;
    if (first_page.find("\x7f"
                        "FLAC") != std::string_view::npos)
      return SoundKind::unknown;
    return SoundKind::opus;
  }
  if (has(0, "\x1a\x45\xdf\xa3")) return SoundKind::webm;
  if (has(4, "ftyp")) return SoundKind::mp4;
  if (has(0, "#!AMR")) return SoundKind::amr;
  if (has(0, "FORM") && has(8, "AIF")) return SoundKind::aiff;
  if (is_frame(head, true)) return SoundKind::mp3;
  return is_frame(head, false) ? SoundKind::aac : SoundKind::unknown;
}

bool is_plain(SoundKind kind) { return row_of(kind).plain; }
std::string_view name_of(SoundKind kind) { return row_of(kind).name; }
std::string_view content_type_of(SoundKind kind) { return row_of(kind).type; }
std::string_view extension_of(SoundKind kind) { return row_of(kind).extension; }

}  // namespace corral::dialects::audio
