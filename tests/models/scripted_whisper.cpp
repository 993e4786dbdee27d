#include "scripted_whisper.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <ggml.h>

#include "model.h"

namespace corral::test_models {
namespace {

// As whisper's tiny model has them, but for the width.
constexpr std::int32_t kSpokenTokens = 51'865, kAudioContext = 1'500, kTextContext = 448, kSpokenLayers = 4, kMels = 80,
                       kFft = 201;
constexpr std::int32_t kSpokenWidth = 8;

// Of the multilingual vocabulary.
constexpr std::int32_t kEndOfText = 50'257, kEnglish = 50'259, kTranslate = 50'358, kBegin = 50'364;
constexpr std::int32_t kHalfSecond = kBegin + 25;
// Behind start, language and task.
constexpr std::size_t kFirstPosition = 2;

constexpr float kLoud = 8, kLouder = 32, kSharpness = 4;

// Rows of Hadamard's matrix but the first, and their opposites: two of them have nothing or the opposite in common, and
// their mean is 0, so that normalising keeps them.
std::array<float, kSpokenWidth> code(std::size_t number) {
  const std::size_t row = number / 2 + 1;
  if (row >= kSpokenWidth) throw std::runtime_error("scripted whisper: too many different words");
  std::array<float, kSpokenWidth> values{};
  for (std::size_t i = 0; i < kSpokenWidth; ++i) {
    const bool odd = __builtin_parityll(row & i) != 0;
    values[i] = odd == (number % 2 == 0) ? -1.0F : 1.0F;
  }
  return values;
}

class WhisperFile {
 public:
  explicit WhisperFile(const std::filesystem::path& path) : path_(path), out_(path, std::ios::binary) {}

  void number(std::int32_t value) { out_.write(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(const std::string& value) {
    number(static_cast<std::int32_t>(value.size()));
    out_.write(value.data(), static_cast<std::streamsize>(value.size()));
  }
  void floats(std::span<const float> values) {
    out_.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
  }
  void tensor(const std::string& name, ggml_type type, std::vector<std::int32_t> shape, std::span<const float> values) {
    number(static_cast<std::int32_t>(shape.size()));
    number(static_cast<std::int32_t>(name.size()));
    number(type);
    for (const auto length : shape) number(length);
    out_.write(name.data(), static_cast<std::streamsize>(name.size()));
    if (type == GGML_TYPE_F32) return floats(values);
    std::vector<ggml_fp16_t> halves(values.size());
    ggml_fp32_to_fp16_row(values.data(), halves.data(), static_cast<std::int64_t>(values.size()));
    out_.write(reinterpret_cast<const char*>(halves.data()),
               static_cast<std::streamsize>(halves.size() * sizeof(ggml_fp16_t)));
  }
  void zeros(const std::string& name, ggml_type type, std::vector<std::int32_t> shape) {
    std::size_t count = 1;
    for (const auto length : shape) count *= static_cast<std::size_t>(length);
    tensor(name, type, std::move(shape), std::vector<float>(count));
  }
  void close() {
    out_.close();
    if (!out_) throw std::runtime_error(fmt::format("cannot write {}", path_.string()));
  }

 private:
  const std::filesystem::path path_;
  std::ofstream out_;
};

void write_attention(WhisperFile& out, const std::string& at, const std::string& kind) {
  out.zeros(fmt::format("{}.{}_ln.weight", at, kind), GGML_TYPE_F32, {kSpokenWidth});
  out.zeros(fmt::format("{}.{}_ln.bias", at, kind), GGML_TYPE_F32, {kSpokenWidth});
  for (const char* part : {"query", "key", "value", "out"}) {
    out.zeros(fmt::format("{}.{}.{}.weight", at, kind, part), GGML_TYPE_F16, {kSpokenWidth, kSpokenWidth});
    if (std::string_view(part) != "key")
      out.zeros(fmt::format("{}.{}.{}.bias", at, kind, part), GGML_TYPE_F32, {kSpokenWidth});
  }
}

void write_blocks(WhisperFile& out, const std::string& side, bool crossing) {
  for (std::int32_t layer = 0; layer < kSpokenLayers; ++layer) {
    const auto at = fmt::format("{}.blocks.{}", side, layer);
    write_attention(out, at, "attn");
    if (crossing) write_attention(out, at, "cross_attn");
    out.zeros(at + ".mlp_ln.weight", GGML_TYPE_F32, {kSpokenWidth});
    out.zeros(at + ".mlp_ln.bias", GGML_TYPE_F32, {kSpokenWidth});
    out.zeros(at + ".mlp.0.weight", GGML_TYPE_F16, {kSpokenWidth, 4 * kSpokenWidth});
    out.zeros(at + ".mlp.0.bias", GGML_TYPE_F32, {4 * kSpokenWidth});
    out.zeros(at + ".mlp.2.weight", GGML_TYPE_F16, {4 * kSpokenWidth, kSpokenWidth});
    out.zeros(at + ".mlp.2.bias", GGML_TYPE_F32, {kSpokenWidth});
  }
}

// Single characters, which prompts are spelled with, then the words.
std::vector<std::string> vocabulary_of(const SpokenScript& script) {
  std::vector<std::string> tokens;
  for (char c = ' '; c <= '~'; ++c) tokens.emplace_back(1, c);
  for (const auto& word : script.words) {
    if (std::ranges::find(tokens, word) == tokens.end()) tokens.push_back(word);
  }
  return tokens;
}

}  // namespace

std::string text_of(const SpokenScript& script) {
  std::string text;
  for (const auto& word : script.words) text += word;
  return text.substr(text.starts_with(' ') ? 1 : 0);
}

void write_scripted_whisper(const std::filesystem::path& path, const std::string& name, const SpokenScript& script,
                            std::uint64_t seed) {
  const auto tokens = vocabulary_of(script);
  const auto end_of_sentence = kBegin + static_cast<std::int32_t>(std::lround(script.seconds / 0.02));
  std::vector<std::int32_t> sentence{kBegin};
  for (const auto& word : script.words)
    sentence.push_back(static_cast<std::int32_t>(std::ranges::find(tokens, word) - tokens.begin()));
  sentence.push_back(end_of_sentence);

  std::map<std::int32_t, std::array<float, kSpokenWidth>> codes;
  const auto code_of = [&codes](std::int32_t token) {
    const auto [at, fresh] = codes.try_emplace(token);
    if (fresh) at->second = code(codes.size() - 1);
    return at->second;
  };
  std::vector<float> positions(static_cast<std::size_t>(kTextContext) * kSpokenWidth);
  for (std::size_t position = 0; position < kTextContext; ++position) {
    const auto number = position - kFirstPosition;
    const auto token = position < kFirstPosition ? kEnglish : number < sentence.size() ? sentence[number] : kEndOfText;
    const auto values = code_of(token);
    for (std::size_t i = 0; i < kSpokenWidth; ++i) positions[position * kSpokenWidth + i] = kLoud * values[i];
  }
  const auto late = code_of(kHalfSecond);
  std::vector<float> table(static_cast<std::size_t>(kSpokenTokens) * kSpokenWidth);
  for (const auto& [token, values] : codes)
    std::ranges::copy(values, table.begin() + static_cast<std::ptrdiff_t>(token) * kSpokenWidth);
  for (std::size_t i = 0; i < kSpokenWidth; ++i)
    table[static_cast<std::size_t>(kTranslate) * kSpokenWidth + i] = kLouder * late[i];

  WhisperFile out(path);
  out.number(0x67676d6c);  // "ggml"
  for (const std::int32_t value : {kSpokenTokens, kAudioContext, kSpokenWidth, 1, kSpokenLayers, kTextContext,
                                   kSpokenWidth, 1, kSpokenLayers, kMels, 1 /* F16 */})
    out.number(value);
  out.number(kMels);
  out.number(kFft);
  out.floats(std::vector<float>(static_cast<std::size_t>(kMels) * kFft));
  out.number(static_cast<std::int32_t>(tokens.size()));
  for (const auto& token : tokens) out.text(token);

  // Nobody hears it: what stands behind it weighs nothing.
  Random random(seed, {name, "encoder.positional_embedding"});
  std::vector<float> noise(static_cast<std::size_t>(kAudioContext) * kSpokenWidth);
  for (float& value : noise) value = random.normal();
  out.tensor("encoder.positional_embedding", GGML_TYPE_F32, {kSpokenWidth, kAudioContext}, noise);
  out.zeros("encoder.conv1.weight", GGML_TYPE_F16, {3, kMels, kSpokenWidth});
  out.zeros("encoder.conv1.bias", GGML_TYPE_F32, {1, kSpokenWidth});
  out.zeros("encoder.conv2.weight", GGML_TYPE_F16, {3, kSpokenWidth, kSpokenWidth});
  out.zeros("encoder.conv2.bias", GGML_TYPE_F32, {1, kSpokenWidth});
  out.zeros("encoder.ln_post.weight", GGML_TYPE_F32, {kSpokenWidth});
  out.zeros("encoder.ln_post.bias", GGML_TYPE_F32, {kSpokenWidth});
  write_blocks(out, "encoder", false);
  out.tensor("decoder.positional_embedding", GGML_TYPE_F32, {kSpokenWidth, kTextContext}, positions);
  out.tensor("decoder.token_embedding.weight", GGML_TYPE_F16, {kSpokenWidth, kSpokenTokens}, table);
  out.tensor("decoder.ln.weight", GGML_TYPE_F32, {kSpokenWidth}, std::vector<float>(kSpokenWidth, kSharpness));
  out.zeros("decoder.ln.bias", GGML_TYPE_F32, {kSpokenWidth});
  write_blocks(out, "decoder", true);
  out.close();
}

}  // namespace corral::test_models
