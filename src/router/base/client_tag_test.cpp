#include "router/base/client_tag.h"

#include <gtest/gtest.h>

namespace corral::router {
namespace {

std::string tag_of(const ClientTags& tags, const char* key, const char* address) {
  return tags.of(OwnerId(key), ClientAddress(address));
}

TEST(ClientTags, TellClientsApartAndNothingElse) {
  const ClientTags tags(7);
  const auto ann = tag_of(tags, "key-ann", "10.0.0.1");
  EXPECT_EQ(ann, tag_of(tags, "key-ann", "10.0.0.2"));  // from wherever
  EXPECT_NE(ann, tag_of(tags, "key-bob", "10.0.0.1"));
  EXPECT_EQ(tag_of(tags, "", "10.0.0.1"), tag_of(tags, "", "10.0.0.1"));
  EXPECT_NE(tag_of(tags, "", "10.0.0.1"), tag_of(tags, "", "10.0.0.2"));
  EXPECT_NE(tag_of(tags, "", "10.0.0.1"), tag_of(tags, "10.0.0.1", ""));
  EXPECT_EQ(ann.size(), 16u);
  EXPECT_EQ(ann.find("ann"), std::string::npos);
}

// One machine has as many addresses of its network as it likes.
TEST(ClientTags, OneNetworkIsOneClient) {
  const ClientTags tags(7);
  EXPECT_EQ(tag_of(tags, "", "2001:db8::1"), tag_of(tags, "", "2001:db8::ffff:2"));
  EXPECT_NE(tag_of(tags, "", "2001:db8::1"), tag_of(tags, "", "2001:db8:0:1::1"));
  EXPECT_EQ(tag_of(tags, "", "::ffff:10.0.0.1"), tag_of(tags, "", "10.0.0.1"));
  EXPECT_NE(tag_of(tags, "", "::ffff:10.0.0.1"), tag_of(tags, "", "::ffff:10.0.0.2"));
  EXPECT_NE(tag_of(tags, "", "unix"), tag_of(tags, "", "10.0.0.1"));
}

TEST(ClientTags, AreOthersEachTime) {
  EXPECT_NE(tag_of(ClientTags(), "key-ann", ""), tag_of(ClientTags(), "key-ann", ""));
  EXPECT_NE(tag_of(ClientTags(1), "key-ann", ""), tag_of(ClientTags(2), "key-ann", ""));
}

}  // namespace
}  // namespace corral::router
