#include "residency/limits.h"

#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "residency/errors.h"

namespace corral::residency {
namespace {

constexpr const char* kHelp =
    "use one number for every type (3; -1: unlimited), numbers for llm, embedding and reranking (5 2 4), or names "
    "(llm=3,embedding=2,*=1)";
constexpr std::array kPositional{ModelType::llm, ModelType::embedding, ModelType::reranking};

std::unexpected<Error> refuse(std::string_view text, std::string why) {
  return fail(errc::bad_limit, fmt::format("max_loaded_models \"{}\": {}; {}", text, why, kHelp), "max_loaded_models");
}

std::vector<std::string_view> split(std::string_view text) {
  constexpr std::string_view kSeparators = " ,\t";
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(kSeparators);
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(text.find_first_of(kSeparators, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

// A number of slots, or what is wrong with it.
std::expected<std::int32_t, std::string> parse_slots(std::string_view word) {
  std::int32_t slots = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), slots);
  if (error == std::errc::result_out_of_range) return std::unexpected(fmt::format("\"{}\" is too large", word));
  if (error != std::errc{} || end != word.data() + word.size()) {
    return std::unexpected(fmt::format("\"{}\" is not a whole number", word));
  }
  if (slots == 0) return std::unexpected(std::string("0 would let no model load"));
  if (slots < kUnlimited)
    return std::unexpected(fmt::format("{} is negative (only -1 has a meaning: unlimited)", slots));
  return slots;
}

Result<Limits> parse_numbers(std::string_view text, const std::vector<std::string_view>& words) {
  if (words.size() > kPositional.size()) {
    return refuse(text, fmt::format("{} numbers, but at most {} have a meaning", words.size(), kPositional.size()));
  }
  Limits limits;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto slots = parse_slots(words[i]);
    if (!slots) return refuse(text, slots.error());
    if (words.size() == 1) return Limits::of_all(*slots);
    limits.set(kPositional[i], *slots);
  }
  return limits;
}

Result<Limits> parse_names(std::string_view text, const std::vector<std::string_view>& words) {
  std::array<std::optional<std::int32_t>, kModelTypeCount> named;
  std::optional<std::int32_t> others;
  for (std::string_view word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return refuse(text, fmt::format("\"{}\" has no type=", word));
    const std::string_view name = word.substr(0, equals);
    const auto type = parse_model_type(name);
    if (!type && name != "*") return refuse(text, fmt::format("there is no type \"{}\"", name));
    auto& place = type ? named[index_of(*type)] : others;
    if (place) return refuse(text, fmt::format("\"{}\" is given twice", name));
    const auto slots = parse_slots(word.substr(equals + 1));
    if (!slots) return refuse(text, slots.error());
    place = *slots;
  }
  Limits limits;
  for (ModelType type : kModelTypes) limits.set(type, named[index_of(type)].value_or(others.value_or(1)));
  return limits;
}

}  // namespace

Result<Limits> parse_max_loaded_models(std::string_view text) {
  const auto words = split(text);
  if (words.empty()) return refuse(text, "nothing given");
  return text.find('=') == std::string_view::npos ? parse_numbers(text, words) : parse_names(text, words);
}

std::string to_text(const Limits& limits) {
  std::string text;
  const std::int32_t last = limits[kModelTypes.back()];
  std::size_t named = kModelTypeCount;
  // The types at the end that have the same limit become "*".
  while (named > 0 && limits[kModelTypes[named - 1]] == last) --named;
  if (named == 0) return fmt::format("{}", last);
  for (std::size_t i = 0; i < named; ++i)
    text += fmt::format("{}={},", name_of(kModelTypes[i]), limits[kModelTypes[i]]);
  return text + fmt::format("*={}", last);
}

}  // namespace corral::residency
