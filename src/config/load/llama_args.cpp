#include "config/load/llama_args.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "config/errors.h"
#include "config/options/value.h"

namespace corral::config {
namespace {

using L = LoadOptions;

struct Flag {
  std::array<std::string_view, 4> names;
  // Sets the option; false: the value is invalid. Null for flags without a value.
  bool (*take)(std::string_view value, L& options) = nullptr;
  void (*set)(L& options) = nullptr;  // for flags without a value; null: always the case here
};

constexpr std::int64_t kUnset = std::numeric_limits<std::int64_t>::min();

// A whole number. A negative number or a word means automatic, which is `kAutomatic` here.
template <std::optional<std::int64_t> L::* kMember, std::int64_t kAutomatic, std::int64_t kUnit = 1>
bool whole(std::string_view value, L& options) {
  const auto number = parse_int(value);
  if (!number && value != "auto" && value != "all") return false;
  options.*kMember = number && *number >= 0 ? *number * kUnit : kAutomatic;
  if (options.*kMember == kUnset) (options.*kMember).reset();
  return true;
}

bool threads(std::string_view value, L& options) {
  const auto number = parse_int(value);
  if (number) options.threads = std::max<std::int64_t>(*number, 0);
  return number.has_value();
}

// llama.cpp divides a larger batch into passes of -ub tokens, by default this number.
bool batch_size(std::string_view value, L& options) {
  constexpr std::int64_t kPass = 512;
  const auto number = parse_int(value);
  if (!number || *number < 1) return false;
  options.batch_size = std::min(*number, kPass);
  return true;
}

bool adapters(std::string_view value, L& options) {
  if (!options.lora) options.lora.emplace();
  for (std::size_t begin = 0; begin <= value.size();) {
    const auto end = std::min(value.find(',', begin), value.size());
    if (end == begin) return false;
    options.lora->emplace_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return true;
}

bool devices(std::string_view value, L& options) {
  if (!options.devices) options.devices.emplace();
  for (std::size_t begin = 0; begin <= value.size();) {
    const auto end = std::min(value.find(',', begin), value.size());
    if (end == begin) return false;
    options.devices->emplace_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return true;
}

bool draft(std::string_view value, L& options) {
  options.draft_model = value;
  return !value.empty();
}

bool projector(std::string_view value, L& options) {
  options.mmproj = value;
  return !value.empty();
}

// check() checks the choices.
template <std::optional<std::string> L::* kMember>
bool choice(std::string_view value, L& options) {
  options.*kMember = value;
  return true;
}

constexpr std::int64_t kMiB = 1 << 20;

constexpr Flag kFlags[] = {
    {{"-c", "--ctx-size"}, whole<&L::ctx_size, -1>},
    {{"-np", "--parallel"}, whole<&L::parallel, kUnset>},
    {{"-kvu", "--kv-unified"}, nullptr, [](L& options) { options.kv_unified = true; }},
    {{"-no-kvu", "--no-kv-unified"}, nullptr, [](L& options) { options.kv_unified = false; }},
    {{"-b", "--batch-size"}, batch_size},
    {{"-t", "--threads"}, threads},
    {{"-ngl", "--gpu-layers", "--n-gpu-layers"}, whole<&L::gpu_layers, -1>},
    {{"-dev", "--device"}, devices},
    {{"-sm", "--split-mode"}, choice<&L::split_mode>},
    {{"-ts", "--tensor-split"}, choice<&L::tensor_split>},
    {{"-mg", "--main-gpu"}, whole<&L::main_gpu, kUnset>},
    {{"--swa-full"}, nullptr, [](L& options) { options.swa_full = true; }},
    {{"--lora"}, adapters},
    {{"--lora-scaled"}, adapters},
    {{"-md", "--model-draft", "--spec-draft-model"}, draft},
    {{"-mm", "--mmproj"}, projector},
    {{"--no-mmproj", "--no-mmproj-auto"}, nullptr, [](L& options) { options.mmproj = std::string(kNoProjector); }},
    {{"--mmproj-auto"}, nullptr, [](L& options) { options.mmproj = "auto"; }},
    {{"--mmproj-offload"}, nullptr, [](L& options) { options.mmproj_offload = true; }},
    {{"--no-mmproj-offload"}, nullptr, [](L& options) { options.mmproj_offload = false; }},
    {{"--draft", "--draft-n", "--draft-max", "--spec-draft-n-max"}, whole<&L::speculative, kUnset>},
    {{"-cram", "--cache-ram"}, whole<&L::park_bytes, std::int64_t{1} << 40, kMiB>},
    {{"--pooling"}, choice<&L::pooling>},
    {{"-fa", "--flash-attn"}, choice<&L::flash_attention>},
    {{"-ctk", "--cache-type-k"}, choice<&L::cache_type_k>},
    {{"-ctv", "--cache-type-v"}, choice<&L::cache_type_v>},
    {{"--mlock"}, nullptr, [](L& options) { options.mlock = true; }},
    {{"--mmap"}, nullptr, [](L& options) { options.mmap = true; }},
    {{"--no-mmap"}, nullptr, [](L& options) { options.mmap = false; }},
    {{"--jinja"}},
    {{"-cb", "--cont-batching"}},
};

std::unexpected<Error> wrong(std::string text) {
  return fail(errc::invalid_value, "'llamacpp_args': " + std::move(text), "llamacpp_args");
}

Result<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;  // inside a word, which may be empty between quotation marks
  char quote = 0;
  for (const char c : text) {
    if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote == 0 ? c : 0;
      inside = true;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote != 0) return wrong(fmt::format("a quotation mark ({}) is not closed", quote));
  if (inside) words.push_back(std::move(word));
  return words;
}

const Flag* find(std::string_view name) {
  const auto named = [name](const Flag& flag) { return std::ranges::find(flag.names, name) != flag.names.end(); };
  const auto* const found = std::ranges::find_if(kFlags, named);
  return found == std::end(kFlags) ? nullptr : found;
}

std::string known_flags() {
  std::string text;
  for (const Flag& flag : kFlags) text += fmt::format("{}{}", text.empty() ? "" : ", ", flag.names.front());
  return text;
}

}  // namespace

Result<LoadOptions> parse_llama_args(std::string_view text) {
  const auto words = words_of(text);
  if (!words) return std::unexpected(words.error());
  LoadOptions options;
  for (std::size_t at = 0; at < words->size(); ++at) {
    const std::string& word = (*words)[at];
    const auto equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const std::string name = word.substr(0, equals);
    const Flag* const flag = name.empty() ? nullptr : find(name);
    if (!flag) return wrong(fmt::format("'{}' has no equivalent here; supported flags: {}", name, known_flags()));
    if (!flag->take) {
      if (equals != std::string::npos) return wrong(fmt::format("'{}' takes no value", name));
      if (flag->set) flag->set(options);
      continue;
    }
    if (equals == std::string::npos && at + 1 == words->size()) return wrong(fmt::format("'{}' needs a value", name));
    const std::string value = equals == std::string::npos ? (*words)[++at] : word.substr(equals + 1);
    if (!flag->take(value, options)) return wrong(fmt::format("invalid value '{}' for '{}'", value, name));
  }
  if (const auto fine = check(options); !fine) return wrong(fine.error().message);
  return options;
}

LoadOptions with_args(const LoadOptions& options) {
  if (!options.llamacpp_args) return options;
  return merge(options, parse_llama_args(*options.llamacpp_args).value_or(L()));
}

}  // namespace corral::config
