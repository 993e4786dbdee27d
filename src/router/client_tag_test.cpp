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

TEST(ClientTags, AreOthersEachTime) {
  EXPECT_NE(ClientTags().of("key-ann", ""), ClientTags().of("key-ann", ""));
  EXPECT_NE(ClientTags(1).of("key-ann", ""), ClientTags(2).of("key-ann", ""));
}

}  // namespace
}  // namespace corral::router
