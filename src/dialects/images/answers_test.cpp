#include "dialects/images/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/errors.h"

namespace corral::dialects::images {
namespace {

// One pixel.
constexpr const char* kPng =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

TEST(ImageAnswers, TheImagesOfABackendAreRead) {
  const auto read =
      read_images(std::string(R"({"created":1,"data":[{"b64_json":")") + kPng + R"("},{"url":"http://x/y.png"},{}]})");
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(read->at(0).base64, kPng);
  EXPECT_EQ(read->at(0).size, "1x1");
  EXPECT_EQ(read->at(1).url, "http://x/y.png");
  for (const char* none : {"", "[]", "{}", R"({"data":[]})", R"({"data":[{"b64_json":""}]})", R"({"data":7})"}) {
    const auto failed = read_images(none);
    ASSERT_FALSE(failed) << none;
    EXPECT_EQ(failed.error().code, protocol::errc::remote_upstream);
    EXPECT_EQ(failed.error().message, "the response of the backend has no image");
  }
}

TEST(ImageAnswers, OneAnswerHasThemAll) {
  ImagesAsked asked{.size = "64x64", .format = "jpeg"};
  const std::vector<MadeImage> images = {{.base64 = "AAAA"}, {.url = "http://x/y.png"}};
  EXPECT_EQ(images_answer(asked, images, 5),
            R"({"created":5,"background":"opaque","output_format":"jpeg","quality":"auto","size":"64x64",)"
            R"("data":[{"b64_json":"AAAA"},{"url":"http://x/y.png"}],"usage":{"total_tokens":0,"input_tokens":0,)"
            R"("output_tokens":0,"input_tokens_details":{"text_tokens":0,"image_tokens":0}}})");
}

TEST(ImageAnswers, EventsAreNamedAfterTheirRequest) {
  EXPECT_EQ(image_event({}, {.base64 = "AAAA", .size = "8x8"}, 5),
            "event: image_generation.completed\n"
            R"(data: {"type":"image_generation.completed","b64_json":"AAAA","created_at":5,"background":"opaque",)"
            R"("output_format":"png","quality":"auto","size":"8x8","usage":{"total_tokens":0,"input_tokens":0,)"
            R"("output_tokens":0,"input_tokens_details":{"text_tokens":0,"image_tokens":0}}})"
            "\n\n");
  EXPECT_THAT(image_event({.is_generation = false}, {.base64 = "AAAA"}, 5),
              testing::StartsWith("event: image_edit.completed\n"));
}

}  // namespace
}  // namespace corral::dialects::images
