#include "api/access/access_log.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log.h"

namespace corral::api {
namespace {

using testing::HasSubstr;

struct HandClock final : Clock {
  MonoTime now() const override { return time; }
  WallTime wall_now() const override { return {}; }
  MonoTime time{std::chrono::hours(24)};
};

TEST(AccessLogTest, ALineTellsTheRequestWithoutQueryAndKey) {
  http::RequestHead head;
  head.target = "/v1/models?api_key=secret";
  AccessRecord record{.method = "GET",
                      .path = std::string(head.path()),
                      .peer = "127.0.0.1",
                      .key = "ops",
                      .id = "abc",
                      .begin = MonoTime(),
                      .status = 200,
                      .reason = {}};
  EXPECT_EQ(access_line(record, MonoTime(Millis(3))), "GET /v1/models 200, 3 ms, from 127.0.0.1, key ops, request abc");
  record.status = 0;
  record.key.clear();
  EXPECT_EQ(access_line(record, MonoTime(Millis(1500))),
            "GET /v1/models client disconnected, 1500 ms, from 127.0.0.1, request abc");
  record.status = 401;
  record.path = std::string("/\x1b[2J") + std::string(1000, 'x');
  record.reason = "a valid API key is required";
  const auto line = access_line(record, MonoTime());
  EXPECT_THAT(line, HasSubstr("GET /?[2Jxxx"));
  EXPECT_THAT(line, HasSubstr("401, 0 ms, from 127.0.0.1, request abc: a valid API key is required"));
  EXPECT_LT(line.size(), 400u);
  record.path = "/a\u009B2J\xFF\u00A0\u00e9";
  EXPECT_THAT(access_line(record, MonoTime()), HasSubstr("GET /a?2J?\u00A0\u00e9 401")) << "terminals obey C1, too";
}

// Scanners send thousands of requests without a key.
TEST(AccessLogTest, RejectionsAreWrittenAtMostTenTimesASecond) {
  HandClock clock;
  AccessLog log(clock);
  log::set_level(log::Level::info);
  const AccessRecord record{.method = "GET",
                            .path = "/v1/models",
                            .peer = "127.0.0.1",
                            .key = {},
                            .id = {},
                            .begin = clock.now(),
                            .status = 401,
                            .reason = {}};
  const auto lines_of = [&](int requests) {
    testing::internal::CaptureStderr();
    for (int i = 0; i < requests; ++i) log.write(record);
    return testing::internal::GetCapturedStderr();
  };
  const auto count = [](std::string_view text) { return std::ranges::count(text, '\n'); };
  EXPECT_EQ(count(lines_of(1000)), 10);
  EXPECT_EQ(count(lines_of(1)), 0);
  clock.time += std::chrono::seconds(1);
  const auto next = lines_of(1);
  EXPECT_EQ(count(next), 2);
  EXPECT_THAT(next, HasSubstr("991 more rejected requests, not listed"));
  auto fine = record;
  fine.status = 200;
  testing::internal::CaptureStderr();
  log.write(fine);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "at level debug only";
}

}  // namespace
}  // namespace corral::api
