#include "downloads/transfer/attempts.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "downloads/errors.h"
#include "downloads/hub/hub_answers.h"
#include "downloads/transfer/fetcher.h"
#include "downloads/transfer/parts.h"

namespace corral::downloads {
namespace {

using testing::HasSubstr;

const Asked kRange{.repo = "org/repo",
                   .revision = "main",
                   .what = "m.gguf",
                   .endpoint = "https://hub",
                   .endpoint_variable = std::string(kHubVariable),
                   .range = Range{10, 20},
                   .size = 100};
const Asked kPage{.repo = "org/repo",
                  .revision = "v9",
                  .is_file = false,
                  .endpoint = "https://hub",
                  .endpoint_variable = std::string(kHubVariable)};
const Asked kAddress{.what = "https://host/x.gguf", .endpoint = "https://host", .range = Range{0, 1}};

Outcome answer(int status, std::uint64_t received = 0) {
  Outcome outcome{.status = status, .received = received};
  if (status == 206) outcome.got_range = Range{10, 20}, outcome.total = 100;
  if (status == 200) outcome.total = 100;
  return outcome;
}

Decision decide(const Asked& asked, const Outcome& outcome) { return Attempts().decide(asked, outcome, 7); }

TEST(Attempts, WhatIsAllThereIsDone) {
  EXPECT_EQ(decide(kRange, answer(206, 10)).step, Step::done);
  EXPECT_EQ(decide(kPage, answer(200)).step, Step::done);
  // The connection broke behind the last byte.
  Outcome late = answer(206, 10);
  late.fault = Fault::broken;
  EXPECT_EQ(decide(kRange, late).step, Step::done);
}

TEST(Attempts, WhatBrokeOffGoesOn) {
  for (const Fault fault : {Fault::none, Fault::stalled, Fault::broken}) {
    Outcome cut = answer(206, 4);
    cut.fault = fault;
    const Decision next = decide(kRange, cut);
    EXPECT_EQ(next.step, Step::again);
    EXPECT_EQ(next.fresh_connection, fault != Fault::none);
    EXPECT_LE(next.pause, Millis(500));
  }
  Outcome page = answer(200);
  page.fault = Fault::broken;
  EXPECT_EQ(decide(kPage, page).step, Step::again);
}

TEST(Attempts, PausesGrowAndAreBoundedAndEndAtLast) {
  Attempts attempts;
  const Outcome nothing{.fault = Fault::no_connect, .detail = "no route"};
  Millis longest{0};
  for (int i = 1; i < 8; ++i) {
    const Decision next = attempts.decide(kRange, nothing, ~0ull);
    ASSERT_EQ(next.step, Step::again) << i;
    EXPECT_GE(next.pause, Millis(std::min(250 << (i - 1), 15'000)));
    EXPECT_LE(next.pause, Millis(30'000));
    longest = std::max(longest, next.pause);
  }
  const Decision last = attempts.decide(kRange, nothing, 0);
  ASSERT_EQ(last.step, Step::fail);
  EXPECT_EQ(last.error->code, errc::unreachable);
  EXPECT_THAT(last.error->message, HasSubstr("no route"));
  EXPECT_THAT(last.error->message, HasSubstr("HF_ENDPOINT"));
  EXPECT_THAT(last.error->message, HasSubstr("gave up after 8 tries"));
}

TEST(Attempts, WhoBringsSomethingHasAllTriesAgain) {
  Attempts attempts;
  Outcome little = answer(206, 1);
  little.fault = Fault::broken;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(attempts.decide(kRange, little, 1).step, Step::again);
}

TEST(Attempts, AllOfTheFileForARangeIsReadOverFromTheSecondTimeOn) {
  Attempts attempts;
  EXPECT_EQ(attempts.decide(kRange, answer(200), 1).step, Step::again);
  EXPECT_EQ(attempts.decide(kRange, answer(200), 1).step, Step::one_piece);
  EXPECT_EQ(attempts.decide(kRange, answer(200, 10), 1).step, Step::done);
}

TEST(Attempts, BeyondTheEndIsDoneOnlyWhereNothingIsMissing) {
  Asked behind = kRange;
  behind.range = Range{100, 110};
  Outcome outcome = answer(416);
  outcome.total = 100;
  EXPECT_EQ(decide(behind, outcome).step, Step::done);
  EXPECT_EQ(decide(kRange, outcome).step, Step::again);
  Attempts attempts({.max_tries = 1});
  EXPECT_EQ(attempts.decide(kRange, outcome, 1).error->code, errc::wrong_content);
}

TEST(Attempts, ARestThatTheServerWantsIsKept) {
  Outcome busy = answer(429);
  busy.retry_after = std::chrono::seconds(77);
  EXPECT_EQ(decide(kRange, busy).pause, Millis(77'000));
  busy.retry_after = std::chrono::seconds(7'000);
  const Decision next = decide(kRange, busy);
  EXPECT_EQ(next.step, Step::fail);
  EXPECT_EQ(next.error->code, errc::rate_limited);
  EXPECT_EQ(next.error->retry_after, std::chrono::seconds(7'000));
  EXPECT_THAT(next.error->message, HasSubstr("(status 429): try again in 117 min; with a token (HF_TOKEN)"));
}

TEST(Attempts, ARestWithoutReasonIsBounded) {
  for (const int status : {500, 502, 206}) {
    Outcome odd = answer(status, 3);
    odd.retry_after = std::chrono::seconds(1'000'000);
    const Decision next = decide(kRange, odd);
    EXPECT_EQ(next.step, Step::again);
    EXPECT_EQ(next.pause, Millis(300'000));
  }
}

TEST(Attempts, AnAddressThatExpiredIsAskedForAnewAFewTimes) {
  for (const int status : {400, 401, 403, 404, 410}) {
    Outcome gone = answer(status);
    gone.elsewhere = true;
    Attempts attempts;
    for (int i = 0; i < 4; ++i) {
      const Decision next = attempts.decide(kRange, gone, ~0ull);
      EXPECT_EQ(next.step, Step::again) << status;
      EXPECT_LE(next.pause, Millis(500));
    }
    const Decision last = attempts.decide(kRange, gone, 1);
    ASSERT_EQ(last.step, Step::fail) << status;
    EXPECT_EQ(last.error->message, fmt::format("'m.gguf' of 'org/repo': the server to which https://hub redirects "
                                               "returned status {}: try again later",
                                               status));
  }
  Outcome gone = answer(403);
  gone.elsewhere = true;
  gone.retry_after = std::chrono::seconds(40);
  EXPECT_GE(decide(kRange, gone).pause, std::chrono::seconds(40));
  gone.retry_after.reset();
  Attempts attempts;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(attempts.decide(kRange, gone, 1).step, Step::again) << i;
    Outcome some = answer(206, 1);
    some.fault = Fault::broken;
    ASSERT_EQ(attempts.decide(kRange, some, 1).step, Step::again) << i;
  }
  EXPECT_EQ(decide(kRange, answer(403)).error->code, errc::token_refused);
}

// A renamed repository with conditions was requested 24 times, in 41 s.
TEST(Attempts, ARefusalIsFinalWhateverLedToIt) {
  for (const Asked& asked : {kRange, kPage})
    for (const auto& [status, code, cause] :
         {std::tuple{401, "GatedRepo", errc::gated}, std::tuple{401, "RepoNotFound", errc::model_not_found},
          std::tuple{404, "RevisionNotFound", errc::revision_not_found}}) {
      Outcome refused = answer(status);
      refused.error_code = code;
      refused.elsewhere = true;
      const Decision next = decide(asked, refused);
      ASSERT_EQ(next.step, Step::fail) << code;
      EXPECT_EQ(next.error->code, cause) << code;
    }
  // A list has no signed URL, wherever its redirects lead.
  for (const int status : {400, 401, 403, 404, 410}) {
    Outcome refused = answer(status);
    refused.elsewhere = true;
    EXPECT_EQ(decide(kPage, refused).step, Step::fail) << status;
  }
}

TEST(Attempts, RefusalsNameTheWayOn) {
  struct Case {
    int status;
    const char* code;
    bool token;
    errc cause;
    std::string message;
  };
  const std::string set_token =
      "put a token into the file $HF_HOME/token (~/.cache/huggingface/token), or set HF_TOKEN for the server process "
      "and restart it";
  const std::string unknown = "unknown repository 'org/repo' at https://hub", conditions = "you must accept the ";
  const Case cases[] = {
      {401, "RepoNotFound", false, errc::model_not_found, unknown + "; if it is private, " + set_token},
      {401, "", false, errc::model_not_found, unknown + "; if it is private, " + set_token},
      {401, "", true, errc::token_refused,
       "'org/repo': https://hub rejected the token (401): create a new one, then " + set_token},
      {404, "RepoNotFound", true, errc::model_not_found, unknown + "; the token has no access"},
      {404, "RevisionNotFound", false, errc::revision_not_found, "'org/repo' has no revision 'v9'"},
      {404, "EntryNotFound", false, errc::model_not_found, unknown},
      {403, "GatedRepo", true, errc::gated,
       conditions + "conditions of 'org/repo' at https://hub/org/repo with the account of the token, then " +
           set_token},
      {401, "GatedRepo", false, errc::gated,
       conditions + "conditions of 'org/repo' at https://hub/org/repo, then " + set_token},
      {403, "", true, errc::token_refused, "'org/repo': https://hub denies access (403); the token has no access"},
      {404, "", false, errc::model_not_found, unknown},
      {407, "", false, errc::token_refused, "'org/repo': the proxy requires a password (407): set it in HTTPS_PROXY"},
      {400, "", false, errc::upstream_failed, "'org/repo': the server returned status 400"},
      {304, "", false, errc::upstream_malformed, "'org/repo': the redirect has no target (status 304)"},
  };
  for (const Case& one : cases) {
    Outcome outcome = answer(one.status);
    outcome.error_code = one.code;
    outcome.with_token = one.token;
    const Decision next = decide(kPage, outcome);
    ASSERT_EQ(next.step, Step::fail) << one.status << one.code;
    EXPECT_EQ(next.error->code, one.cause) << one.status << one.code;
    EXPECT_EQ(next.error->message, one.message);
  }
}

TEST(Attempts, FaultsNameWhatWasRequestedAndWhere) {
  const auto message_of = [](const Asked& asked, const Outcome& outcome) {
    Attempts attempts({.max_tries = 1});
    return attempts.decide(asked, outcome, 1).error->message;
  };
  const std::string file = "'m.gguf' of 'org/repo': ";
  EXPECT_EQ(message_of(kRange, {.fault = Fault::stalled, .detail = "no data for 15 s"}),
            file + "the server stopped sending (no data for 15 s)");
  EXPECT_EQ(message_of(kRange, {.fault = Fault::no_connect, .detail = "no route"}),
            file +
                "no connection to https://hub (no route). Check the network; HTTPS_PROXY sets a proxy, HF_ENDPOINT "
                "another server");
  EXPECT_EQ(message_of(kRange, {.fault = Fault::bad_tls, .detail = "self-signed"}),
            file +
                "the certificate of https://hub is not trusted (self-signed). For a proxy that inspects TLS, add its "
                "certificate to the system's store or to SSL_CERT_FILE");
  EXPECT_EQ(message_of(kRange, {.fault = Fault::too_large, .detail = "more than 5 bytes"}),
            file + "the response is too large (more than 5 bytes)");
  EXPECT_EQ(message_of(kRange, {.fault = Fault::broken, .detail = "reset"}), file + "the connection was lost (reset)");
  Outcome other = answer(206);
  other.total = 99;
  EXPECT_EQ(message_of(kRange, other), file + "the server has 99 bytes, but the repository lists 100");
  EXPECT_EQ(message_of(kRange, {.status = 416, .total = 50}), file + "the server has 50 bytes, fewer than listed");
  EXPECT_EQ(message_of(kRange, answer(429)),
            file +
                "https://hub limits the request rate (status 429): try again later; with a token (HF_TOKEN) it "
                "allows more");
  EXPECT_EQ(message_of(kAddress, answer(403)),
            "'https://host/x.gguf': https://host denies access (403), and corral sends no password to it: download the "
            "file yourself, then run corral import FILE");
}

TEST(Attempts, OfAnAddressNothingAboutTheHubIsSaid) {
  const auto message_of = [](Outcome outcome) {
    Attempts attempts({.max_tries = 1});
    return attempts.decide(kAddress, outcome, 1).error->message;
  };
  for (const Outcome& outcome : {Outcome{.fault = Fault::no_connect, .detail = "no route"}, answer(401), answer(403),
                                 answer(404), answer(429), answer(503)}) {
    EXPECT_THAT(message_of(outcome), HasSubstr("'https://host/x.gguf'"));
    EXPECT_THAT(message_of(outcome), testing::Not(HasSubstr("HF_")));
  }
  EXPECT_THAT(message_of(answer(401)), HasSubstr("corral import FILE"));
  EXPECT_THAT(message_of(answer(503)), HasSubstr("is too busy (status 503): try again later"));
}

TEST(Attempts, WhatNoOtherTryChangesFailsAtOnce) {
  EXPECT_EQ(decide(kRange, {.fault = Fault::bad_tls}).error->code, errc::unreachable);
  EXPECT_EQ(decide(kPage, {.fault = Fault::too_large}).error->code, errc::upstream_malformed);
  EXPECT_EQ(decide(kRange, {.fault = Fault::not_taken, .detail = "x"}).error->code, errc::disk_failed);
}

TEST(Attempts, AFileOfAnotherSizeOrAnotherRangeIsNotTaken) {
  Attempts attempts({.max_tries = 2});
  Outcome other = answer(206, 0);
  other.total = 99;
  EXPECT_EQ(attempts.decide(kRange, other, 1).step, Step::again);
  EXPECT_EQ(attempts.decide(kRange, other, 1).error->code, errc::wrong_content);
  Outcome shifted = answer(206, 0);
  shifted.got_range = Range{11, 20};
  EXPECT_EQ(decide(kRange, shifted).step, Step::again);
}

// Servers that do anything at all, by seed: every download of made-up files ends, with all bytes or an error, never by
// taking what wasn't asked for.
TEST(Attempts, AThousandRandomFaultsOverTwoHundredDownloads) {
  int faults = 0, whole = 0, failed = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SplitMix random(seed);
    const std::uint64_t size = 1 + random.next() % 2000;
    Parts parts({.smallest = 50, .largest = 100, .at_once = 4});
    parts.add(size, {});
    bool ended = false;
    int steps = 0;
    while (!ended && !parts.complete(0)) {
      auto part = parts.next();
      ASSERT_TRUE(part) << "seed " << seed;
      Attempts attempts({.max_tries = 6});
      while (true) {
        ASSERT_LT(++steps, 100'000) << "seed " << seed;
        Asked asked = kRange;
        asked.range = part->range;
        asked.size = size;
        Outcome outcome{.status = 206, .got_range = part->range, .total = size};
        std::uint64_t comes = part->range.size();
        const auto die = random.next() % 16;
        if (die < 9) ++faults;
        if (die == 0) comes = random.next() % comes, outcome.fault = Fault::broken;
        if (die == 1) comes = random.next() % comes, outcome.fault = Fault::stalled;
        if (die == 2) outcome = {.fault = Fault::no_connect}, comes = 0;
        if (die == 3) outcome = {.status = 500 + static_cast<int>(random.next() % 5)}, comes = 0;
        if (die == 4) outcome = {.status = 429, .retry_after = std::chrono::seconds(random.next() % 400)}, comes = 0;
        if (die == 5) outcome = {.status = 403, .elsewhere = true}, comes = 0;
        if (die == 6) outcome = {.status = 416, .total = size}, comes = 0;
        if (die == 7) outcome.total = size + 1, comes = 0;
        if (die == 8) {
          outcome = {.status = 200, .total = size};
          if (part->range.begin != 0 && !parts.is_in_one_piece(0)) comes = 0;
        }
        outcome.received = comes;
        *part = parts.wrote(*part, comes);
        const Decision next = attempts.decide(asked, outcome, random.next());
        if (next.step == Step::done) {
          ASSERT_TRUE(part->range.empty()) << "seed " << seed;
          break;
        }
        ASSERT_GE(next.pause, Millis(0));
        ASSERT_LE(next.pause, std::chrono::seconds(400));
        if (next.step == Step::fail) {
          ASSERT_TRUE(next.error) << "seed " << seed;
          EXPECT_FALSE(next.error->message.empty());
          ended = true;
          break;
        }
        if (next.step == Step::one_piece) parts.in_one_piece(0);
      }
      parts.give_back(*part);
    }
    ended ? ++failed : ++whole;
  }
  EXPECT_GE(faults, 1000);
  EXPECT_GT(whole, 100);
  EXPECT_EQ(whole + failed, 200);
}

TEST(Heads, AreReadWithDoubt) {
  FetchHead head{.status = 206, .fields = {{"content-range", "bytes 5-9/100"}}};
  EXPECT_EQ(head.content_range(), (Range{5, 10}));
  EXPECT_EQ(head.total(), 100u);
  for (const char* bad : {"", "bytes */100", "bytes 9-5/100", "bytes 5/100", "items 1-2/3", "bytes -1-2/3"}) {
    head.fields["content-range"] = bad;
    EXPECT_FALSE(head.content_range()) << bad;
  }
  head = {.status = 416, .fields = {{"content-range", "bytes */77"}}};
  EXPECT_EQ(head.total(), 77u);
  head = {.status = 429, .fields = {{"ratelimit", "\"api\";r=0;t=55"}}};
  EXPECT_EQ(head.retry_after(), std::chrono::seconds(55));
  head.fields["retry-after"] = "12";
  EXPECT_EQ(head.retry_after(), std::chrono::seconds(12));
}

TEST(HubAnswers, AreReadWithDoubt) {
  const std::string sha(40, 'b'), oid(64, 'c');
  const auto revision = read_revision(R"({"sha":")" + sha + R"(","gated":"auto","cardData":{"license":"mit"}})");
  ASSERT_TRUE(revision);
  EXPECT_EQ(revision->commit, sha);
  EXPECT_TRUE(revision->gated);
  EXPECT_EQ(revision->licence, "mit");
  for (const char* bad : {"", "[]", "{}", R"({"sha":"../../x"})", R"({"sha":7})"}) {
    const auto wrong = read_revision(bad);
    ASSERT_FALSE(wrong) << bad;
    EXPECT_EQ(wrong.error().code, errc::upstream_malformed);
  }
  const auto files = read_tree(R"([{"type":"directory","path":"d","oid":"x"},
    {"type":"file","path":"d/m.gguf","size":7,"oid":")" +
                               sha + R"(","lfs":{"oid":")" + oid + R"(","size":9}},
    {"type":"file","path":"README.md","size":3,"oid":")" +
                               sha + R"("},
    {"type":"file","path":"../evil","size":3,"oid":")" +
                               sha + R"("},
    {"type":"file","path":"absurd","size":9000000000000000000,"oid":")" +
                               sha + R"("},
    {"type":"file","path":"negative","size":-1,"oid":")" +
                               sha + R"("},
    {"type":"file","path":"sizeless","oid":")" +
                               sha + R"("},
    {"type":"file","path":"short","size":3,"oid":"ab"}, 7])");
  ASSERT_TRUE(files);
  ASSERT_EQ(files->size(), 2u);
  EXPECT_EQ((*files)[0], (TreeFile{"d/m.gguf", 9, oid, HashKind::sha256}));
  EXPECT_EQ((*files)[1], (TreeFile{"README.md", 3, sha, HashKind::git_sha1}));
}

TEST(HubAnswers, TheNextPageIsOnTheSameServer) {
  const char* from = "https://hub:1/api/x";
  EXPECT_EQ(next_page("<https://hub:1/api/x?cursor=2>; rel=\"next\"", from), "https://hub:1/api/x?cursor=2");
  EXPECT_EQ(next_page("</api/x?cursor=2>; rel=\"next\"", from), "https://hub:1/api/x?cursor=2");
  EXPECT_EQ(next_page("<https://hub:1/a>; rel=\"first\", <https://hub:1/b>; rel=\"next\"", from), "https://hub:1/b");
  for (const char* none : {"", "<https://hub:1/a>; rel=\"first\"", "<https://evil/a>; rel=\"next\"",
                           "<https://hub:2/a>; rel=\"next\"", "<//evil/a>; rel=\"next\"", "<https://hub:1/a"})
    EXPECT_EQ(next_page(none, from), "") << none;
}

}  // namespace
}  // namespace corral::downloads
