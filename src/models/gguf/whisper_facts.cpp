#include "models/gguf/whisper_facts.h"

#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "models/errors.h"
#include "models/gguf/gguf_types.h"
#include "models/text.h"

namespace corral::models {
namespace {

constexpr std::uint32_t kMagic = 0x67676d6c;
constexpr std::uint32_t kVersionFactor = 1'000;  // of quantisations, in the number of the type

struct Head {
  std::uint32_t vocabulary, audio_context, audio_width, audio_heads, audio_layers, text_context, text_width, text_heads,
      text_layers, mels, type;
};

// Smallest and largest that whisper has had, with room. Other files with this magic (of VAD, of ggml's older programs)
// fall through.
bool is_whisper(const Head& head) {
  const auto within = [](std::uint32_t value, std::uint32_t min, std::uint32_t max) {
    return value >= min && value <= max;
  };
  return within(head.vocabulary, 51'864, 52'200) && within(head.audio_context, 1, 65'536) &&
         within(head.audio_width, 1, 16'384) && within(head.audio_heads, 1, 256) && within(head.audio_layers, 1, 256) &&
         within(head.text_context, 1, 65'536) && head.text_width == head.audio_width &&
         within(head.text_heads, 1, 256) && within(head.text_layers, 1, 256) && within(head.mels, 1, 1'024);
}

GgufFacts other() {
  GgufFacts facts;
  facts.kind = FileKind::other;
  facts.what = "a file of another program";
  return facts;
}

}  // namespace

bool may_be_whisper(const std::filesystem::path& path) {
  return equal_ignoring_case(path.extension().native(), ".bin");
}

Result<GgufFacts> read_whisper_facts(ByteSource& source) {
  constexpr std::uint64_t kHeadBytes = 4 + sizeof(Head);
  std::array<std::byte, kHeadBytes> bytes{};
  const auto got = source.read_at(0, bytes);
  if (!got) return std::unexpected(got.error());
  std::uint32_t magic = 0;
  std::memcpy(&magic, bytes.data(), sizeof magic);
  if (*got < kHeadBytes || magic != kMagic) return other();
  Head head{};
  std::memcpy(&head, bytes.data() + sizeof magic, sizeof head);
  if (!is_whisper(head)) return other();
  // The table of tokens alone has half a byte for each of its numbers at least.
  if (source.size() / head.text_width < head.vocabulary / 2)
    return fail(errc::truncated, "ends before its tensors: probably an incomplete download");

  GgufFacts facts;
  facts.type = ModelType::transcription;
  facts.recipe = "whispercpp";
  facts.traits.architecture = "whisper";
  facts.traits.layers = head.text_layers;
  facts.traits.vocabulary = head.vocabulary;
  facts.traits.quantisation = std::string(file_type_name(head.type % kVersionFactor).value_or(""));
  return facts;
}

Result<GgufFacts> read_whisper_facts(const std::filesystem::path& path) {
  auto source = open_file(path);
  if (!source) return std::unexpected(std::move(source).error());
  auto facts = read_whisper_facts(**source);
  if (!facts) facts.error().message = fmt::format("'{}' {}", printable_path(path), facts.error().message);
  return facts;
}

}  // namespace corral::models
