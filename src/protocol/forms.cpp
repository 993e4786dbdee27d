#include "protocol/forms.h"

#include <array>

#include "protocol/images.h"

namespace corral::protocol {
namespace {

constexpr auto kTranscriptionForm = std::to_array<FormField>({
    {"file", R"({"type":"string","format":"binary"})", "a file",
     "the audio: wav, mp3, flac, ogg (Vorbis); if ffmpeg is installed on the server, also webm, ogg (Opus), m4a, mp4, "
     "aac and its other formats. The format is detected from the contents. wav has 8,000 to 192,000 samples per second "
     "and at most 8 channels",
     true},
    {"model", R"({"type":"string"})", "a text",
     "default: the only loaded model of its type, else the only one there is. whisper-1, gpt-4o-transcribe and "
     "gpt-4o-mini-transcribe mean the best one, unless a model or alias has that name"},
    {"language", R"({"type":"string"})", "a code such as \"en\", \"de\", \"pt-BR\"",
     "language of the audio; default: detected"},
    {"prompt", R"({"type":"string"})", "a text; at most 16384 bytes", "text before the audio, as context"},
    {"response_format", R"({"type":"string","enum":["json","text","verbose_json","srt","vtt"]})",
     "\"json\", \"text\", \"verbose_json\", \"srt\" or \"vtt\"", "default: json"},
    {"temperature", R"({"type":"number","minimum":0,"maximum":1})", "a number between 0 and 1", ""},
    {"timestamp_granularities[]", R"({"type":"array","items":{"type":"string","enum":["word","segment"]}})",
     "\"word\" or \"segment\", any number of times", "for verbose_json; default: segments"},
    {"stream", R"({"type":"boolean"})", "true or false",
     "with json or text: events `transcript.text.delta` and `transcript.text.done`, and pings. The text of sound above "
     "30 s arrives piece by piece, if it is wav or ffmpeg is installed on the server"},
});

constexpr std::string_view kFileSchema = R"({"type":"string","format":"binary"})";
constexpr std::string_view kImageFormats = "png, jpeg or webp in colours, at most 16 MiB";

constexpr auto kEditFiles = std::to_array<FormField>({
    {"image", kFileSchema, "a file; as `image[]` up to 16 of them", kImageFormats, true},
    {"mask", kFileSchema, "a file", "white parts of it may change, black parts stay. Transparency is ignored"},
});
constexpr auto kVariationFiles = std::to_array<FormField>({
    {"image", kFileSchema, "a file", kImageFormats, true},
});

constexpr auto kForms = std::to_array<EndpointForm>({
    {"audio/transcriptions", kTranscriptionForm},
    {"audio/translations", kTranscriptionForm},
    {"images/edits", kEditFiles, image_edit_fields},
    {"images/variations", kVariationFiles, image_variation_fields},
});

}  // namespace

std::span<const EndpointForm> endpoint_forms() { return kForms; }

}  // namespace corral::protocol
