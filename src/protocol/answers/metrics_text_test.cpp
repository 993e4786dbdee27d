#include "protocol/answers/metrics_text.h"

#include <limits>

#include <gtest/gtest.h>

namespace corral::protocol {
namespace {

TEST(MetricsText, CountersAndGauges) {
  std::string text;
  MetricsText out(text);
  out.family("requests_total", MetricType::counter, "How many\nthere were");
  out.sample({}, 3);
  const MetricLabel labels[] = {{"model", "a\"b\\c\nd"}, {"worker", "0"}};
  out.family("load", MetricType::gauge, "Load");
  out.sample(labels, 0.25);
  out.sample({}, std::numeric_limits<double>::infinity());
  out.sample({}, 12345678901.0);
  EXPECT_EQ(text,
            "# HELP requests_total How many\\nthere were\n"
            "# TYPE requests_total counter\n"
            "requests_total 3\n"
            "# HELP load Load\n"
            "# TYPE load gauge\n"
            "load{model=\"a\\\"b\\\\c\\nd\",worker=\"0\"} 0.25\n"
            "load +Inf\n"
            "load 12345678901\n");
}

TEST(MetricsText, HistogramsAreCumulative) {
  static constexpr std::array kBounds = {0.1, 1.0};
  Histogram histogram(kBounds);
  for (const double value : {0.05, 0.5, 0.75, 2.0}) histogram.observe(value);
  std::string text;
  MetricsText out(text);
  const MetricLabel labels[] = {{"model", "m"}};
  out.family("wait_seconds", MetricType::histogram, "Waiting");
  out.sample(labels, histogram);
  EXPECT_EQ(text,
            "# HELP wait_seconds Waiting\n"
            "# TYPE wait_seconds histogram\n"
            "wait_seconds_bucket{model=\"m\",le=\"0.1\"} 1\n"
            "wait_seconds_bucket{model=\"m\",le=\"1\"} 3\n"
            "wait_seconds_bucket{model=\"m\",le=\"+Inf\"} 4\n"
            "wait_seconds_sum{model=\"m\"} 3.3\n"
            "wait_seconds_count{model=\"m\"} 4\n");
}

}  // namespace
}  // namespace corral::protocol
