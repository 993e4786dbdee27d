#include "api/access_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"

namespace corral::api {
namespace {

class AccessTest : public testing::Test {
 protected:
  struct Inside final : http::Handler {
    async::Task<http::Response> handle(http::Request) override { co_return http::Response::json(200, "{}"); }
  };
  using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

  unsigned ask(const Fields& fields, std::string path = "/v1/models") {
    AccessFilter filter(inside, options);
    http::Request request;
    request.head.target = std::move(path);
    for (const auto& [name, value] : fields) request.head.headers.add(name, value);
    response = async::run_blocking(loop, filter.handle(std::move(request)));
    return response.head.status;
  }

  async::Loop loop;
  Inside inside;
  AccessOptions options;
  http::Response response;
};

TEST_F(AccessTest, WithoutAKeyEverybodyOnThisMachineMayAsk) {
  EXPECT_EQ(ask({}), 200u);
  EXPECT_EQ(ask({{"Authorization", "Bearer whatever"}}), 200u);
}

TEST_F(AccessTest, KeyIsAskedForInEitherHeader) {
  options.api_key = "secret";
  EXPECT_EQ(ask({{"Authorization", "Bearer secret"}}), 200u);
  EXPECT_EQ(ask({{"authorization", "bearer secret"}}), 200u);
  EXPECT_EQ(ask({{"X-Api-Key", "secret"}}), 200u);
  for (const auto* wrong :
       {"Bearer secreT", "Bearer secre", "Bearer secrets", "Bearer ", "Bearer", "secret", "Basic secret", ""}) {
    EXPECT_EQ(ask({{"Authorization", wrong}}), 401u) << wrong;
  }
  EXPECT_EQ(ask({}), 401u);
  EXPECT_EQ(ask({{"x-api-key", ""}}), 401u);
  EXPECT_THAT(response.body.text(), testing::HasSubstr("invalid_api_key"));
}

TEST_F(AccessTest, LiveNeedsNoKey) {
  options.api_key = "secret";
  for (const auto* path : {"/live", "/v1/live", "/v0/live", "/api/v1/live", "/api/v0/live", "/live?x=1", "/live/"}) {
    EXPECT_EQ(ask({}, path), 200u) << path;
  }
  for (const auto* path : {"/v1/models", "/LIVE", "/live/../v1/models", "/v1/models?/live"}) {
    EXPECT_EQ(ask({}, path), 401u) << path;
  }
}

TEST_F(AccessTest, OnLoopbackOnlyLoopbackNamesAreHosts) {
  for (const auto* host : {"localhost", "localhost:8000", "LocalHost:8000", "127.0.0.1:8000", "127.8.9.1", "[::1]:8000",
                           "[::1]", "corral.localhost:8000"}) {
    EXPECT_EQ(ask({{"Host", host}}), 200u) << host;
  }
  for (const auto* host : {"evil.com", "evil.com:8000", "localhost.evil.com", "127.0.0.1.evil.com:8000", "127.evil.com",
                           "10.0.0.1", "[::2]:8000", "[", "notlocalhost", ".localhost", "127.0.0.1@evil.com"}) {
    EXPECT_EQ(ask({{"Host", host}}), 403u) << host;
  }
  options.loopback_only = false;
  EXPECT_EQ(ask({{"Host", "my-server:8000"}}), 200u);
}

TEST_F(AccessTest, PagesOfOthersMayNotAsk) {
  for (const auto* origin : {"http://localhost:3000", "https://127.0.0.1", "http://[::1]:8000", "tauri://localhost"}) {
    EXPECT_EQ(ask({{"Host", "localhost:8000"}, {"Origin", origin}}), 200u) << origin;
  }
  for (const auto* origin :
       {"https://evil.com", "http://localhost.evil.com", "http://127.0.0.1.evil.com", "null", "file://", "http://"}) {
    EXPECT_EQ(ask({{"Host", "localhost:8000"}, {"Origin", origin}}), 403u) << origin;
  }
}

TEST_F(AccessTest, OnANetworkThePagesOfTheServerItselfMay) {
  options.loopback_only = false;
  EXPECT_EQ(ask({{"Host", "my-server:8000"}, {"Origin", "http://my-server:8000"}}), 200u);
  EXPECT_EQ(ask({{"Host", "my-server:8000"}, {"Origin", "http://evil.com"}}), 403u);
  EXPECT_EQ(ask({{"Host", "my-server:8000"}, {"Origin", "null"}}), 403u);
}

}  // namespace
}  // namespace corral::api
