#include "protocol/answers/metrics_merge.h"

#include <algorithm>

namespace corral::protocol {
namespace {

constexpr std::string_view kHelp = "# HELP ", kType = "# TYPE ";

bool is_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
  };
  return !text.empty() && (text[0] < '0' || text[0] > '9') && std::ranges::all_of(text, fits);
}

bool has_label(std::string_view labels, std::string_view name) {
  const std::string start = std::string(name) + "=\"";
  return labels.starts_with(start) || labels.find("," + start) != std::string_view::npos;
}

// Whether a sample of this name belongs to the family; histograms have several names.
bool belongs(std::string_view name, std::string_view family) {
  if (family.empty() || !name.starts_with(family)) return false;
  const auto suffix = name.substr(family.size());
  return suffix.empty() || suffix == "_bucket" || suffix == "_sum" || suffix == "_count";
}

// The place of the `}` that ends the labels; npos: none.
std::size_t end_of_labels(std::string_view labels) {
  bool quoted = false;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == '\\' && quoted)
      ++i;
    else if (labels[i] == '"')
      quoted = !quoted;
    else if (labels[i] == '}' && !quoted)
      return i;
  }
  return std::string_view::npos;
}

}  // namespace

MetricsMerge::Family& MetricsMerge::family(std::string_view name) {
  const auto [at, is_new] = places_.try_emplace(std::string(name), families_.size());
  if (is_new) families_.emplace_back();
  return families_[at->second];
}

void MetricsMerge::head(std::string_view line) {
  const auto rest = line.substr(kHelp.size());
  const auto name = rest.substr(0, rest.find(' '));
  if (!is_name(name)) return;
  current_ = name;
  auto& text = line.starts_with(kHelp) ? family(name).help : family(name).type;
  if (text.empty()) text.append(line).append("\n");
}

void MetricsMerge::sample(std::string_view line, const MetricLabel& label) {
  const auto end = line.find_first_of("{ ");
  if (end == std::string_view::npos || !is_name(line.substr(0, end))) return;
  const auto name = line.substr(0, end);
  auto rest = line.substr(end);
  std::string_view labels;
  if (rest.starts_with('{')) {
    rest.remove_prefix(1);
    const auto close = end_of_labels(rest);
    if (close == std::string_view::npos) return;
    labels = rest.substr(0, close);
    rest.remove_prefix(close + 1);
  }
  auto& samples = family(belongs(name, current_) ? std::string_view(current_) : name).samples;
  samples.append(name).append("{");
  if (!has_label(labels, label.name)) {
    samples.append(label.name).append("=\"");
    append_label_value(samples, label.value);
    samples.append(labels.empty() ? "\"" : "\",");
  }
  samples.append(labels).append("}").append(rest).append("\n");
}

void MetricsMerge::add(std::string_view text, const MetricLabel& label) {
  current_.clear();
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(kHelp) || line.starts_with(kType)) {
      head(line);
    } else if (!line.empty() && !line.starts_with('#')) {
      sample(line, label);
    }
  }
}

void MetricsMerge::append_to(std::string& out) const {
  for (const auto& family : families_) out.append(family.help).append(family.type).append(family.samples);
}

}  // namespace corral::protocol
