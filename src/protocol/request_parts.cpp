#include "protocol/request_parts.h"

namespace corral::protocol {
namespace {

using json::View;

struct FloatRow {
  std::string_view name;
  std::optional<float> Sampling::* member;
};
constexpr FloatRow kFloats[] = {
    {"temperature", &Sampling::temperature},
    {"top_p", &Sampling::top_p},
    {"min_p", &Sampling::min_p},
    {"typical_p", &Sampling::typical_p},
    {"top_n_sigma", &Sampling::top_n_sigma},
    {"xtc_probability", &Sampling::xtc_probability},
    {"xtc_threshold", &Sampling::xtc_threshold},
    {"dynatemp_range", &Sampling::dynatemp_range},
    {"dynatemp_exponent", &Sampling::dynatemp_exponent},
    {"repeat_penalty", &Sampling::repeat_penalty},
    {"frequency_penalty", &Sampling::frequency_penalty},
    {"presence_penalty", &Sampling::presence_penalty},
    {"dry_multiplier", &Sampling::dry_multiplier},
    {"dry_base", &Sampling::dry_base},
    {"adaptive_target", &Sampling::adaptive_target},
    {"adaptive_decay", &Sampling::adaptive_decay},
    {"mirostat_tau", &Sampling::mirostat_tau},
    {"mirostat_eta", &Sampling::mirostat_eta},
};

struct IntegerRow {
  std::string_view name;
  std::optional<std::int32_t> Sampling::* member;
};
constexpr IntegerRow kIntegers[] = {
    {"top_k", &Sampling::top_k},
    {"repeat_last_n", &Sampling::repeat_last_n},
    {"dry_allowed_length", &Sampling::dry_allowed_length},
    {"dry_penalty_last_n", &Sampling::dry_penalty_last_n},
    {"mirostat", &Sampling::mirostat},
    {"min_keep", &Sampling::min_keep},
};

// Names in an array, or letters in a string; the table has seen that all are known.
std::vector<SamplerKind> sampler_order(View value) {
  std::vector<SamplerKind> order;
  for (const char letter : value.as_string()) {
    if (const auto kind = sampler_lettered(letter)) order.push_back(*kind);
  }
  value.each_element([&](View name) {
    if (const auto kind = sampler_named(name.as_string())) order.push_back(*kind);
  });
  return order;
}

}  // namespace

std::vector<std::string> strings(View value) {
  std::vector<std::string> all;
  if (value.is_string()) all.emplace_back(value.as_string());
  value.each_element([&](View element) { all.emplace_back(element.as_string()); });
  return all;
}

void fill_sampling(Sampling& sampling, View body) {
  body.each_member([&](std::string_view name, View value) {
    if (value.is_null()) return;
    for (const auto& row : kFloats) {
      if (row.name == name) sampling.*row.member = static_cast<float>(value.as_number());
    }
    for (const auto& row : kIntegers) {
      if (row.name == name) sampling.*row.member = static_cast<std::int32_t>(value.as_integer());
    }
    if (name == "samplers") sampling.samplers = sampler_order(value);
    if (name == "dry_sequence_breakers") sampling.dry_sequence_breakers = strings(value);
    if (name == "seed" && value.as_integer() != -1) sampling.seed = static_cast<std::uint32_t>(value.as_integer());
  });
}

}  // namespace corral::protocol
