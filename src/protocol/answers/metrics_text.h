// Numbers in Prometheus' text form (version 0.0.4), family by family:
//
//   std::string text;
//   protocol::MetricsText out(text);
//   out.family("corral_engine_steps_total", MetricType::counter, "Forward passes");
//   out.sample({{"model", name}}, 3);
//
// Plain text building; one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/histogram.h"

namespace corral::protocol {

inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

enum class MetricType { counter, gauge, histogram };

struct MetricLabel {
  std::string_view name;  // letters, digits and underscores
  std::string value;      // anything
};

// Escapes it for the quotation marks of a label.
void append_label_value(std::string& out, std::string_view value);

class MetricsText {
 public:
  // Appends to `out`, which must outlive this.
  explicit MetricsText(std::string& out) : out_(out) {}

  // Begins a family for the following samples. `name` must be a valid metric name; all samples of a family come
  // together.
  void family(std::string_view name, MetricType type, std::string_view help);
  void sample(std::span<const MetricLabel> labels, double value);
  // Its buckets, sum and count.
  void sample(std::span<const MetricLabel> labels, const Histogram& histogram);

 private:
  void line(std::string_view suffix, std::span<const MetricLabel> labels, std::string_view bound, double value);

  std::string& out_;
  std::string name_;
};

}  // namespace corral::protocol
