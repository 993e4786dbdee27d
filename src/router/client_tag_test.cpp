#include "router/client_tag.h"

#include <gtest/gtest.h>

namespace corral::router {
namespace {

TEST(ClientTags, TellClientsApartAndNothingElse) {
  const ClientTags tags(7);
  const auto ann = tags.of("key-ann", "10.0.0.1");
  EXPECT_EQ(ann, tags.of("key-ann", "10.0.0.2"));  // from wherever
  EXPECT_NE(ann, tags.of("key-bob", "10.0.0.1"));
  EXPECT_EQ(tags.of("", "10.0.0.1"), tags.of("", "10.0.0.1"));
  EXPECT_NE(tags.of("", "10.0.0.1"), tags.of("", "10.0.0.2"));
  EXPECT_NE(tags.of("", "10.0.0.1"), tags.of("10.0.0.1", ""));
  EXPECT_EQ(ann.size(), 16u);
  EXPECT_EQ(ann.find("ann"), std::string::npos);
}

// One machine has as many addresses of its network as it likes.
TEST(ClientTags, OneNetworkIsOneClient) {
  const ClientTags tags(7);
  EXPECT_EQ(tags.of("", "2001:db8::1"), tags.of("", "2001:db8::ffff:2"));
  EXPECT_NE(tags.of("", "2001:db8::1"), tags.of("", "2001:db8:0:1::1"));
  EXPECT_EQ(tags.of("", "::ffff:10.0.0.1"), tags.of("", "10.0.0.1"));
  EXPECT_NE(tags.of("", "::ffff:10.0.0.1"), tags.of("", "::ffff:10.0.0.2"));
  EXPECT_NE(tags.of("", "unix"), tags.of("", "10.0.0.1"));
}

TEST(ClientTags, AreOthersEachTime) {
  EXPECT_NE(ClientTags().of("key-ann", ""), ClientTags().of("key-ann", ""));
  EXPECT_NE(ClientTags(1).of("key-ann", ""), ClientTags(2).of("key-ann", ""));
}

}  // namespace
}  // namespace corral::router
