#include "protocol/forms.h"

#include <array>

namespace corral::protocol {
namespace {

constexpr auto kTranscriptionForm = std::to_array<FormField>({
    {"file", R"({"type":"string","format":"binary"})", "a file",
     "the audio: wav, mp3, flac, ogg (Vorbis); if ffmpeg is installed on the server, also webm, ogg (Opus), m4a, mp4, "
     "aac and its other formats. The format is detected from the contents",
     true},
    {"model", R"({"type":"string"})", "a text",
     "default: the only loaded model of its type, else the only one there is"},
    {"language", R"({"type":"string"})", "a code such as \"en\", \"de\", \"pt-BR\"",
     "language of the audio; default: detected"},
    {"prompt", R"({"type":"string"})", "a text; at most 16384 bytes", "text before the audio, as context"},
    {"response_format", R"({"type":"string","enum":["json","text","verbose_json","srt","vtt"]})",
     "\"json\", \"text\", \"verbose_json\", \"srt\" or \"vtt\"", "default: json"},
    {"temperature", R"({"type":"number","minimum":0,"maximum":1})", "a number between 0 and 1", ""},
    {"timestamp_granularities[]", R"({"type":"array","items":{"type":"string","enum":["word","segment"]}})",
     "\"word\" or \"segment\", any number of times", "for verbose_json; default: segments"},
    {"stream", R"({"type":"boolean"})", "true or false",
     "with json or text: events `transcript.text.delta` and `transcript.text.done`, and pings before; most backends "
     "return the whole text at once"},
});

constexpr auto kForms = std::to_array<EndpointForm>({
    {"audio/transcriptions", kTranscriptionForm},
    {"audio/translations", kTranscriptionForm},
});

}  // namespace

std::span<const EndpointForm> endpoint_forms() { return kForms; }

}  // namespace corral::protocol
