#include "protocol/answers/metrics_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace corral::protocol {
namespace {

constexpr std::array kTypes = {"counter", "gauge", "histogram"};

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quotes && c == '"')) out.push_back('\\');
    out.push_back(c);
  }
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), end};
}

}  // namespace

void append_label_value(std::string& out, std::string_view value) { append_escaped(out, value, true); }

void MetricsText::family(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  out_.append("# HELP ").append(name).push_back(' ');
  append_escaped(out_, help, false);
  out_.append("\n# TYPE ").append(name).append(" ").append(kTypes.at(static_cast<std::size_t>(type))).append("\n");
}

void MetricsText::line(std::string_view suffix, std::span<const MetricLabel> labels, std::string_view bound,
                       double value) {
  out_.append(name_).append(suffix);
  char before = '{';
  const auto label = [&](std::string_view name, std::string_view text) {
    out_.push_back(std::exchange(before, ','));
    out_.append(name).append("=\"");
    append_escaped(out_, text, true);
    out_.push_back('"');
  };
  for (const MetricLabel& one : labels) label(one.name, one.value);
  if (!bound.empty()) label("le", bound);
  if (before == ',') out_.push_back('}');
  out_.append(" ").append(number(value)).append("\n");
}

void MetricsText::sample(std::span<const MetricLabel> labels, double value) { line("", labels, {}, value); }

void MetricsText::sample(std::span<const MetricLabel> labels, const Histogram& histogram) {
  const auto bounds = histogram.bounds();
  for (std::size_t i = 0; i < bounds.size(); ++i)
    line("_bucket", labels, number(bounds[i]), static_cast<double>(histogram.at_most(i)));
  const auto count = static_cast<double>(histogram.count());
  line("_bucket", labels, "+Inf", count);
  line("_sum", labels, {}, histogram.sum());
  line("_count", labels, {}, count);
}

}  // namespace corral::protocol
