// Items and answers as they are kept.
#include "dialects/responses/kept_items.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialects/responses/read.h"
#include "dialects/responses/response_translator.h"
#include "json/value.h"
#include "protocol/answers/piece.h"
#include "protocol/errors.h"

namespace corral::dialects::responses {
namespace {

std::string kept(const std::string& input, const std::map<std::string, std::string, std::less<>>& referred = {}) {
  const auto peek = json::Peek::open(input);
  EXPECT_TRUE(peek);
  return kept_input(peek->root(), "req-7", referred);
}

TEST(KeptItems, ATextIsAMessageOfTheUser) {
  EXPECT_EQ(kept(R"("Hi \"you\"")"),
            R"([{"id":"msg_7_i0","type":"message","role":"user","content":[{"type":"input_text","text":"Hi \"you\""}],)"
            R"("status":"completed"}])");
}

TEST(KeptItems, EachHasAnIdAndKeepsWhatItSays) {
  EXPECT_EQ(kept(R"([{"role":"assistant","content":"a","id":"mine","status":"incomplete"},)"
                 R"({"type":"function_call","call_id":"c","name":"f","arguments":"{}"},)"
                 R"({"type":"web_search_call","odd \"name\"":[1]}])"),
            R"([{"id":"mine","type":"message","role":"assistant","content":[{"type":"output_text","text":"a",)"
            R"("annotations":[]}],"status":"incomplete"},)"
            R"({"id":"fc_7_i1","type":"function_call","call_id":"c","name":"f","arguments":"{}"},)"
            R"({"id":"item_7_i2","type":"web_search_call","odd \"name\"":[1]}])");
}

TEST(KeptItems, AReferenceIsTheItemItself) {
  EXPECT_EQ(
      kept(R"([{"type":"item_reference","id":"a"},{"type":"item_reference","id":"b"}])", {{"a", R"({"id":"a"})"}}),
      R"([{"id":"a"}])");
}

TEST(KeptItems, AnIdTellsOfWhichAnswerTheItemIs) {
  EXPECT_EQ(answer_of_item("msg_7_0"), "resp_7");
  EXPECT_EQ(answer_of_item("msg_7_i12"), "resp_7");
  EXPECT_EQ(answer_of_item("fc_a_b_0"), "resp_a_b");
  for (const auto* other : {"", "msg", "msg_7", "x_"}) EXPECT_EQ(answer_of_item(other), "") << other;
}

TEST(KeptItems, OfAListAndOfAnAnswer) {
  EXPECT_EQ(items_in(R"([{"id":"a"},{"x": 1}])").size(), 2u);
  const auto output = items_in(R"({"id":"resp_1","output":[{"id":"b","n": 1}]})");
  ASSERT_EQ(output.size(), 1u);
  EXPECT_EQ(output[0].id, "b");
  EXPECT_EQ(output[0].doc, R"({"id":"b","n":1})");
  EXPECT_TRUE(items_in("{}").empty());
  EXPECT_TRUE(items_in("no").empty());
}

TEST(KeptItems, TheLastEventHasTheAnswer) {
  const auto asked = read_response(R"({"model":"m","input":"x","stream":true})");
  ASSERT_TRUE(asked);
  for (const bool fails : {false, true}) {
    const auto translator = make_response_translator(*asked);
    std::string early, last;
    const auto piece = protocol::read_answer(
        R"({"choices":[{"index":0,"delta":{"content":"\nevent: response.completed\ndata: {\"response\":{}}\n\n"}}]})");
    translator->piece(early, *piece);
    EXPECT_FALSE(last_answer(early)) << early;
    fails ? translator->failure(last, {make_error_code(protocol::errc::remote_upstream), "no \"}"})
          : translator->end(last);
    const auto events = early + last;  // what is found are parts of it
    const auto found = last_answer(events);
    ASSERT_TRUE(found) << last;
    EXPECT_EQ(found->status, fails ? "failed" : "completed");
    const std::string doc(found->doc);
    EXPECT_TRUE(json::parse(doc)) << doc;
    EXPECT_EQ(status_in(doc), found->status);
  }
  for (const auto* none : {"", ": ping\n\n", "event: response.completed\ndata: {}\n\n",
                           "event: response.completedly\n\n", "data: event: response.failed\n\n"})
    EXPECT_FALSE(last_answer(none)) << none;
}

TEST(KeptItems, WhatIsNotStoredSaysSo) {
  const auto asked = read_response_on(R"({"model":"m","input":"x","stream":true,"metadata":{"said":"\"store\":true"}})",
                                      {.id = "req-7", .keeps = true});
  ASSERT_TRUE(asked);
  const auto translator = make_response_translator(*asked);
  std::string events;
  translator->end(events);
  const auto doc = std::string(last_answer(events)->doc);
  EXPECT_THAT(doc, testing::HasSubstr(R"("store":true)"));
  const auto other = events_not_stored(events);
  EXPECT_EQ(last_answer(other)->doc, not_stored(doc));
  EXPECT_THAT(not_stored(doc), testing::HasSubstr(R"("store":false)"));
  EXPECT_THAT(not_stored(doc), testing::HasSubstr(R"({"said":"\"store\":true"})"));
  for (const std::string none : {"", ": ping\n\n"}) EXPECT_EQ(events_not_stored(none), none);
}

TEST(KeptItems, WhatWasInterruptedSaysSo) {
  const auto asked = read_response(R"({"model":"m","input":"x"})");
  ASSERT_TRUE(asked);
  const auto queued = response_document(*asked, "queued");
  EXPECT_EQ(status_in(queued), "queued");
  EXPECT_EQ(status_in(interrupted(queued)), "incomplete");
  EXPECT_THAT(interrupted(queued), testing::HasSubstr(R"("incomplete_details":{"reason":"interrupted"})"));
  EXPECT_EQ(interrupted("no"), "no");
}

}  // namespace
}  // namespace corral::dialects::responses
