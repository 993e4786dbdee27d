#include "event_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::bench {
namespace {

using testing::ElementsAre;

std::string chunk(std::string_view text) {
  char size[17];
  std::snprintf(size, sizeof size, "%zx", text.size());
  return std::string(size) + "\r\n" + std::string(text) + "\r\n";
}

std::vector<std::string> data_of(const EventReader& reader) {
  std::vector<std::string> all;
  for (const auto& event : reader.events()) all.push_back(event.data);
  return all;
}

const std::string kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
// An event that spans chunks, a comment, two events in one chunk, an empty line that is cut in two.
const std::string kStream = kStreamHead + chunk("data: {\"a\":") + chunk("1}\n\n: ping\n\n") +
                            chunk("data: {\"b\":2}\n\ndata: {\"c\":3}\n") + chunk("\ndata: [DONE]\n\n") + chunk("");

TEST(EventReader, CutsEventsOutOfChunks) {
  EventReader reader;
  ASSERT_TRUE(reader.feed(kStream, 1));
  EXPECT_THAT(data_of(reader), ElementsAre("{\"a\":1}", "{\"b\":2}", "{\"c\":3}", "[DONE]"));
  EXPECT_TRUE(reader.ended());
  EXPECT_EQ(reader.status(), 200);
}

TEST(EventReader, FindsTheSameEventsHoweverTheBytesAreCut) {
  for (std::size_t at = 0; at <= kStream.size(); ++at) {
    EventReader reader;
    ASSERT_TRUE(reader.feed(std::string_view(kStream).substr(0, at), 1)) << "cut at " << at;
    ASSERT_TRUE(reader.feed(std::string_view(kStream).substr(at), 2)) << "cut at " << at;
    EXPECT_EQ(data_of(reader).size(), 4u) << "cut at " << at;
    EXPECT_TRUE(reader.ended()) << "cut at " << at;
  }
}

TEST(EventReader, StampsAnEventWithTheTimeOfItsLastByte) {
  EventReader reader;
  for (std::size_t at = 0; at < kStream.size(); ++at) {
    ASSERT_TRUE(reader.feed(std::string_view(kStream).substr(at, 1), static_cast<double>(at)));
  }
  ASSERT_EQ(data_of(reader).size(), 4u);
  EXPECT_EQ(reader.events()[0].at, static_cast<double>(kStream.find("\n\n", kStreamHead.size()) + 1));
  EXPECT_LT(reader.events()[0].at, reader.events()[1].at);
}

TEST(EventReader, KeepsTheBodyOfAnAnswerThatIsNoStream) {
  EventReader reader;
  ASSERT_TRUE(reader.feed("HTTP/1.1 400 Bad Request\r\ncontent-length: 8\r\n\r\n{\"e\"", 1));
  EXPECT_FALSE(reader.ended());
  ASSERT_TRUE(reader.feed(":\n\n}", 2));
  EXPECT_TRUE(reader.ended());
  EXPECT_EQ(reader.status(), 400);
  EXPECT_FALSE(reader.is_stream());
  EXPECT_EQ(reader.rest(), "{\"e\":\n\n}");
}

TEST(EventReader, AnAnswerWithoutLengthEndsWithItsConnection) {
  EventReader reader;
  ASSERT_TRUE(reader.feed("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n", 1));
  EXPECT_FALSE(reader.ended());
  reader.feed_end();
  EXPECT_TRUE(reader.ended());
  EXPECT_THAT(data_of(reader), ElementsAre("1"));
}

TEST(EventReader, AConnectionThatEndsInsideAChunkIsNoEnd) {
  EventReader reader;
  ASSERT_TRUE(reader.feed(kStreamHead + "40\r\ndata: ", 1));
  reader.feed_end();
  EXPECT_FALSE(reader.ended());
}

TEST(EventReader, RefusesWhatIsNoHttp) {
  EXPECT_FALSE(EventReader().feed("SSH-2.0\r\n", 1));
  EXPECT_FALSE(EventReader().feed(kStreamHead + "not a size\r\n", 1));
}

}  // namespace
}  // namespace corral::bench
