#include "protocol/forms.h"

#include <array>

namespace corral::protocol {
namespace {

constexpr auto kHeard = std::to_array<FormField>({
    {"file", R"({"type":"string","format":"binary"})", "a file",
     "the sound: wav, mp3, flac, ogg (Vorbis); where ffmpeg is installed beside the server, also webm, ogg (Opus), "
     "m4a, mp4, aac and what else it reads. What it is, its bytes tell, not its name",
     true},
    {"model", R"({"type":"string"})", "a text",
     "Without it the only one of its type that is loaded, else the only one there is"},
    {"language", R"({"type":"string"})", "a code such as \"en\", \"de\", \"pt-BR\"",
     "that is spoken; without it the model finds out"},
    {"prompt", R"({"type":"string"})", "a text; at most 16384 bytes", "that the sound goes on from"},
    {"response_format", R"({"type":"string","enum":["json","text","verbose_json","srt","vtt"]})",
     "\"json\", \"text\", \"verbose_json\", \"srt\" or \"vtt\"", "json unless it is said"},
    {"temperature", R"({"type":"number","minimum":0,"maximum":1})", "a number between 0 and 1", ""},
    {"timestamp_granularities[]", R"({"type":"array","items":{"type":"string","enum":["word","segment"]}})",
     "\"word\" or \"segment\", any number of times", "of verbose_json, which has segments unless it is said"},
    {"stream", R"({"type":"boolean"})", "true or false",
     "with json or text: events `transcript.text.delta` and `transcript.text.done`. Pings until then; most backends "
     "tell the whole text at once"},
});

constexpr auto kForms = std::to_array<EndpointForm>({
    {"audio/transcriptions", kHeard},
    {"audio/translations", kHeard},
});

}  // namespace

std::span<const EndpointForm> endpoint_forms() { return kForms; }

}  // namespace corral::protocol
