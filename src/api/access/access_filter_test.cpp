#include "api/access/access_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/access/rights.h"
#include "async/loop.h"

namespace corral::api {
namespace {

using testing::HasSubstr;

class AccessTest : public testing::Test {
 protected:
  struct Inside final : http::Handler {
    async::Task<http::Response> handle(http::Request request) override {
      caller = request.caller;
      ++asked;
      // What every route does, see RouteTable.
      if (request.caller.rights == 0) co_return refuse_caller(request);
      co_return http::Response::json(200, "{}");
    }
    http::Caller caller;
    int asked = 0;
  };
  using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

  unsigned ask(const Fields& fields, std::string method = "GET", std::string body = {},
               std::string path = "/v1/models") {
    AccessFilter filter(inside, clock, options);
    http::Request request;
    request.head.method = std::move(method);
    request.head.target = std::move(path);
    for (const auto& [name, value] : fields) request.head.headers.add(name, value);
    request.body = http::Body(std::move(body));
    response = async::run_blocking(loop, filter.handle(std::move(request)));
    return response.head.status;
  }
  std::string header(std::string_view name) const { return std::string(response.head.headers.get(name)); }
  void take_keys(std::string api_key, const std::optional<config::KeyList>& keys = std::nullopt) {
    options.keys = std::make_shared<KeyTable>(std::move(api_key), keys, config::KeyUses());
  }

  async::Loop loop;
  SystemClock clock;
  Inside inside;
  AccessOptions options;
  http::Response response;
};

TEST_F(AccessTest, WithoutAKeyEverybodyOnThisMachineMayAskButOwnsNothing) {
  EXPECT_EQ(ask({}), 200u);
  EXPECT_EQ(ask({{"Authorization", "Bearer whatever"}}), 200u);
  EXPECT_EQ(inside.caller.rights, kOpenRights);
  EXPECT_FALSE(has(inside.caller, kOwner));
}

TEST_F(AccessTest, KeyIsAskedForInEitherHeader) {
  take_keys("secret");
  for (const auto& field :
       Fields{{"Authorization", "Bearer secret"}, {"authorization", "bearer secret"}, {"X-Api-Key", "secret"}}) {
    EXPECT_EQ(ask({field}), 200u);
    EXPECT_EQ(inside.caller.rights, kInference | kAdmin | kOwner);
    EXPECT_EQ(inside.caller.key, kSettingsKey);
  }
  for (const auto* wrong :
       {"Bearer secreT", "Bearer secre", "Bearer secrets", "Bearer ", "Bearer", "secret", "Basic secret", ""}) {
    EXPECT_EQ(ask({{"Authorization", wrong}}), 401u) << wrong;
  }
  EXPECT_EQ(ask({}), 401u);
  EXPECT_EQ(ask({{"x-api-key", ""}}), 401u);
  EXPECT_THAT(response.body.text(), HasSubstr("invalid_api_key"));
  EXPECT_THAT(response.body.text(), HasSubstr("corral key create"));
  EXPECT_EQ(header("WWW-Authenticate"), "Bearer");
}

TEST_F(AccessTest, KeysOfTheFileHaveTheirScopes) {
  config::KeyList keys;
  const auto plain = add_key(keys, "", {.inference = true}, 0);
  const auto admin = add_key(keys, "", {.admin = true}, 0);
  take_keys("", keys);
  EXPECT_EQ(ask({{"x-api-key", plain->text}}), 200u);
  EXPECT_EQ(inside.caller.rights, static_cast<std::uint32_t>(kInference));
  EXPECT_EQ(inside.caller.key, plain->key.id);
  EXPECT_EQ(ask({{"Authorization", "Bearer " + admin->text}}), 200u);
  EXPECT_EQ(inside.caller.rights, kAdmin | kOwner);
  auto other = plain->text;
  other.back() = other.back() == 'a' ? 'b' : 'a';
  EXPECT_EQ(ask({{"x-api-key", other}}), 401u);
  // One's identifier with another's secret.
  EXPECT_EQ(ask({{"x-api-key", plain->text.substr(0, 16) + admin->text.substr(16)}}), 401u);
  EXPECT_EQ(ask({{"x-api-key", plain->key.id}}), 401u);
  EXPECT_EQ(ask({{"x-api-key", std::string(60'000, 'k')}}), 401u);
  EXPECT_EQ(options.keys->uses().count(plain->key.id), 1u);
}

TEST_F(AccessTest, AFileWithoutKeysLetsNobodyIn) {
  take_keys("", config::KeyList{"salt", {}});
  EXPECT_EQ(ask({}), 401u);
}

TEST_F(AccessTest, OnLoopbackOnlyLoopbackNamesAreHosts) {
  for (const auto* host : {"localhost", "localhost:8000", "LocalHost:8000", "127.0.0.1:8000", "127.8.9.1", "[::1]:8000",
                           "[::1]", "corral.localhost:8000"}) {
    EXPECT_EQ(ask({{"Host", host}}), 200u) << host;
  }
  options.allowed_hosts = {"ai.example.org"};
  EXPECT_EQ(ask({{"Host", "AI.example.org:8000"}}), 200u);
  for (const auto* host :
       {"evil.com", "evil.com:8000", "localhost.evil.com", "127.0.0.1.evil.com:8000", "127.evil.com", "10.0.0.1",
        "[::2]:8000", "[", "notlocalhost", ".localhost", "127.0.0.1@evil.com", "x.ai.example.org"}) {
    EXPECT_EQ(ask({{"Host", host}}), 403u) << host;
  }
  EXPECT_THAT(response.body.text(),
              HasSubstr("host 'x.ai.example.org' is not allowed: use localhost or 127.0.0.1, or add it to "
                        "allowed_hosts (--allowed-hosts x.ai.example.org)"));
}

// Programs in containers reach the server of their machine by such a name, which no foreign page can have.
TEST_F(AccessTest, ContainersMayAskByTheNamesOfTheirMachine) {
  const char* const names[] = {"host.docker.internal:8000", "Host.Docker.Internal", "host.containers.internal:8000",
                               "gateway.docker.internal", "host.lima.internal"};
  for (const bool loopback_only : {true, false}) {
    options.loopback_only = loopback_only;
    for (const auto* host : names) EXPECT_EQ(ask({{"Host", host}}), 200u) << host;
    for (const auto* host : {"host.docker.internal.evil.com", "xhost.docker.internal.com", "docker.internal.evil"})
      EXPECT_EQ(ask({{"Host", host}}), 403u) << host;
  }
  options.allowed_hosts = {"ai.example.org"};
  EXPECT_EQ(ask({{"Host", "host.docker.internal:8000"}}), 200u);
}

// Names of services in a compose file, and of machines at home.
TEST_F(AccessTest, OnANetworkPrivateNamesAreHosts) {
  const char* const names[] = {"corral:8000", "nas", "box.local", "Box.LAN:8000", "ai.home.arpa", "a.b.internal"};
  for (const auto* host : names) EXPECT_EQ(ask({{"Host", host}}), 403u) << host;
  options.loopback_only = false;
  for (const auto* host : names) EXPECT_EQ(ask({{"Host", host}}), 200u) << host;
  for (const auto* host : {"evil.com", ".local", "local.evil.com", "box.local.", "boxlan.com"})
    EXPECT_EQ(ask({{"Host", host}}), 403u) << host;
}

// A page whose name was made to lead here (DNS rebinding) asks an open server on the network, too.
TEST_F(AccessTest, OnANetworkWithoutAKeyStrangeNamesAreNoHosts) {
  options.loopback_only = false;
  options.own_names = {"my-server", "my-server.local"};
  for (const auto* host : {"my-server:8000", "My-Server.local", "192.168.1.5:8000", "[fd00::1]:8000", "localhost"})
    EXPECT_EQ(ask({{"Host", host}}), 200u) << host;
  for (const auto* host : {"evil.com:8000", "192.168.1.5.evil.com", "my-server.evil.com"})
    EXPECT_EQ(ask({{"Host", host}}), 403u) << host;
  take_keys("secret");
  EXPECT_EQ(ask({{"Host", "any.example.org"}, {"x-api-key", "secret"}}), 200u) << "a key is what such a page hasn't";
  options.allowed_hosts = {"ai.example.org"};
  EXPECT_EQ(ask({{"Host", "ai.example.org"}, {"x-api-key", "secret"}}), 200u);
  EXPECT_EQ(ask({{"Host", "any.example.org"}, {"x-api-key", "secret"}}), 403u) << "a list holds in any case";
  EXPECT_EQ(ask({{"Host", "my-server"}, {"x-api-key", "secret"}}), 403u);
}

TEST_F(AccessTest, PagesOfOthersMayNotAsk) {
  for (const auto* origin : {"http://localhost:8000", "https://localhost:8000"})
    EXPECT_EQ(ask({{"Host", "localhost:8000"}, {"Origin", origin}}), 200u) << origin;
  for (const auto* origin : {"http://localhost:3000", "https://127.0.0.1", "http://127.0.0.1:8000", "tauri://localhost",
                             "https://evil.com", "http://localhost.evil.com", "http://127.0.0.1.evil.com", "null",
                             "file://", "http://", "", "app://obsidian.md"}) {
    EXPECT_EQ(ask({{"Host", "localhost:8000"}, {"Origin", origin}}), 403u) << origin;
    EXPECT_EQ(header("Access-Control-Allow-Origin"), "");
    EXPECT_EQ(header("Vary"), "Origin");
  }
  EXPECT_EQ(inside.asked, 2);
  EXPECT_THAT(response.body.text(), HasSubstr("allowed_origins"));
}

TEST_F(AccessTest, ListedPagesAreAnsweredAsBrowsersWantIt) {
  options.allowed_origins = {"http://localhost:3000", "vscode-webview://*"};
  for (const auto* origin : {"http://localhost:3000", "vscode-webview://0a1b"}) {
    EXPECT_EQ(ask({{"Host", "localhost:8000"}, {"Origin", origin}}), 200u);
    EXPECT_EQ(header("Access-Control-Allow-Origin"), origin);
    EXPECT_THAT(header("Access-Control-Expose-Headers"), HasSubstr("X-Request-Id"));
    EXPECT_EQ(header("Vary"), "Origin");
  }
  EXPECT_EQ(ask({}), 200u);
  EXPECT_EQ(header("Access-Control-Allow-Origin"), "");
  EXPECT_EQ(header("Vary"), "Origin") << "for caches in between";
  // A page can read why it was refused.
  take_keys("secret");
  EXPECT_EQ(ask({{"Origin", "http://localhost:3000"}}), 401u);
  EXPECT_EQ(header("Access-Control-Allow-Origin"), "http://localhost:3000");
}

TEST_F(AccessTest, PreflightsAreAnsweredWithoutAKeyForListedPagesOnly) {
  take_keys("secret");
  options.allowed_origins = {"http://localhost:3000"};
  const Fields fields = {{"Host", "localhost:8000"},
                         {"Origin", "http://localhost:3000"},
                         {"Access-Control-Request-Method", "POST"},
                         {"Access-Control-Request-Headers", "authorization,content-type,x-stainless-os"},
                         {"Access-Control-Request-Private-Network", "true"}};
  EXPECT_EQ(ask(fields, "OPTIONS"), 200u);
  EXPECT_EQ(header("Access-Control-Allow-Origin"), "http://localhost:3000");
  EXPECT_THAT(header("Access-Control-Allow-Methods"), HasSubstr("POST"));
  EXPECT_EQ(header("Access-Control-Allow-Headers"), "authorization,content-type,x-stainless-os");
  EXPECT_EQ(header("Access-Control-Allow-Private-Network"), "true");
  EXPECT_EQ(header("Access-Control-Allow-Credentials"), "");
  EXPECT_EQ(header("Vary"), "Origin");
  EXPECT_EQ(inside.asked, 0);

  auto cross_origin = fields;
  cross_origin[1].second = "http://localhost:3001";
  EXPECT_EQ(ask(cross_origin, "OPTIONS"), 200u) << "which allows nothing";
  EXPECT_EQ(header("Access-Control-Allow-Methods"), "");
  EXPECT_EQ(inside.asked, 0);
  EXPECT_EQ(header("Access-Control-Allow-Origin"), "");
  auto long_list = fields;
  const std::string names(5000, 'x');
  long_list[3].second = names;
  EXPECT_EQ(ask(long_list, "OPTIONS"), 200u);
  EXPECT_EQ(header("Access-Control-Allow-Headers"), "");
  EXPECT_EQ(ask({{"Origin", "http://localhost:3000"}}, "OPTIONS"), 401u) << "no preflight";
}

TEST_F(AccessTest, WithoutAnOriginOtherSitesMayOnlyLinkHere) {
  EXPECT_EQ(ask({{"Sec-Fetch-Site", "none"}}), 200u);
  EXPECT_EQ(ask({{"Sec-Fetch-Site", "same-origin"}}), 200u);
  EXPECT_EQ(ask({{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}}),
            200u);
  for (const auto* site : {"cross-site", "same-site", "anything"}) {
    EXPECT_EQ(ask({{"Sec-Fetch-Site", site}, {"Sec-Fetch-Mode", "no-cors"}, {"Sec-Fetch-Dest", "image"}}), 403u)
        << site;
    EXPECT_EQ(ask({{"Sec-Fetch-Site", site}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "iframe"}}), 403u)
        << site;
    EXPECT_EQ(ask({{"Sec-Fetch-Site", site}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}}, "POST"),
              403u)
        << site;
  }
}

// The random name in its URL is the right to see it.
TEST_F(AccessTest, PagesOfOtherSitesShowImagesThatWereMadeHere) {
  const Fields shown = {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "no-cors"}, {"Sec-Fetch-Dest", "image"}};
  EXPECT_EQ(ask(shown, "GET", {}, "/v1/images/files/x.png"), 200u);
  EXPECT_EQ(ask(shown, "GET", {}, "/v1/images/generations"), 403u);
  EXPECT_EQ(ask(shown, "POST", {}, "/v1/images/files/x.png"), 403u);
  for (const auto* path : {"/upstream/m/images/files/x.png", "/upstream/images/files/x.png", "/x/v1/images/files/y"})
    EXPECT_EQ(ask(shown, "GET", {}, path), 403u) << path;
  EXPECT_EQ(ask({{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Dest", "script"}}, "GET", {}, "/v1/images/files/x.png"),
            403u);
}

// Every page could have unloaded all models.
TEST_F(AccessTest, OtherSitesMayNotLinkToPathsThatChangeSomething) {
  const Fields link = {
      {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "navigate"}, {"Sec-Fetch-Dest", "document"}};
  const Fields typed = {{"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Mode", "navigate"}, {"User-Agent", "Mozilla/5.0"}};
  for (const auto* path : {"/unload", "/upstream/m/"}) {
    EXPECT_EQ(ask(link, "GET", {}, path), 403u) << path;
    EXPECT_EQ(ask(typed, "GET", {}, path), 200u) << path;
    EXPECT_EQ(ask({}, "GET", {}, path), 200u) << path;
  }
  EXPECT_EQ(ask({{"User-Agent", "Mozilla/5.0"}}, "GET", {}, "/unload"), 403u) << "an address without https";
  EXPECT_EQ(ask({{"User-Agent", "Mozilla/5.0"}}, "GET", {}, "/running"), 200u);
}

TEST_F(AccessTest, BodiesFromBrowsersMustBeSaidToBeJson) {
  const Fields own = {{"Host", "localhost:8000"}, {"Origin", "http://localhost:8000"}};
  const auto with = [&](Fields fields, std::string_view type) {
    if (!type.empty()) fields.emplace_back("Content-Type", type);
    return fields;
  };
  for (const auto* type : {"application/json", "Application/JSON; charset=utf-8"})
    EXPECT_EQ(ask(with(own, type), "POST", "{}"), 200u);
  for (const auto* type : {"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                           "text/plain;application/json", "application/jsonp"}) {
    EXPECT_EQ(ask(with(own, type), "POST", "{}"), 415u) << type;
    EXPECT_EQ(ask(with({{"Sec-Fetch-Site", "none"}}, type), "DELETE", "{}"), 415u) << type;
    EXPECT_EQ(ask(with({}, type), "POST", "{}"), 200u) << "no browser: " << type;
  }
  EXPECT_EQ(ask(own, "POST"), 200u) << "no body";
}

TEST_F(AccessTest, PagesThatMayAskSendFilesAsForms) {
  const Fields own = {{"Host", "localhost:8000"},
                      {"Origin", "http://localhost:8000"},
                      {"Content-Type", "multipart/form-data; boundary=x"}};
  EXPECT_EQ(ask(own, "POST", "--x--", "/v1/audio/transcriptions"), 200u);
  EXPECT_EQ(ask(own, "POST", "--x--", "/v1/load"), 415u);
  auto cross_origin = own;
  cross_origin[1].second = "http://evil.example";
  EXPECT_EQ(ask(cross_origin, "POST", "--x--", "/v1/audio/transcriptions"), 403u);
  const Fields unnamed = {{"Sec-Fetch-Site", "none"}, {"Content-Type", "multipart/form-data; boundary=x"}};
  EXPECT_EQ(ask(unnamed, "POST", "--x--", "/v1/audio/transcriptions"), 415u);
}

}  // namespace
}  // namespace corral::api
