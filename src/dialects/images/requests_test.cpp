// Requests for images: what backends get, and which ones are refused.
#include "dialects/images/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "dialects/images/image_file.h"
#include "protocol/errors.h"

namespace corral::dialects::images {
namespace {

using testing::ElementsAre;
using testing::Pair;

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string number(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift & 0xff));
  return bytes;
}
// `colours`: 6 has red, green, blue and transparency; 0 has shades of grey, 4 also transparency.
std::string png(std::uint32_t width, std::uint32_t height, char colours = 6) {
  return "\x89PNG\r\n\x1a\n" + number(13) + "IHDR" + number(width) + number(height) + "\x08" + colours +
         std::string(3, '\0');
}

class ImageRequestsTest : public testing::Test {
 protected:
  void add(Form& form, std::string name, const std::string& bytes) {
    auto spool = std::make_shared<http::Spool>(room);
    EXPECT_TRUE(async::run_blocking(loop, spool->append(bytes)));
    EXPECT_TRUE(async::run_blocking(loop, spool->finish()));
    form.files.push_back({std::move(name), "../x\".html", "text/html", std::move(spool)});
  }
  Form form(Fields fields, const std::vector<std::pair<std::string, std::string>>& files = {{"image", png(64, 64)}}) {
    Form form{std::move(fields), {}};
    for (const auto& [name, bytes] : files) add(form, name, bytes);
    return form;
  }
  std::string wrong_form(Fields fields,
                         const std::vector<std::pair<std::string, std::string>>& files = {{"image", png(64, 64)}}) {
    const auto asked = read_edit(form(std::move(fields), files));
    if (asked) return "fine";
    EXPECT_NE(asked.error().param, "");
    return asked.error().message;
  }

  async::Loop loop;
  http::SpoolRoom room{testing::TempDir(), 0, nullptr};
};

std::string wrong(std::string body) {
  const auto asked = read_generation(std::move(body));
  return asked ? "fine" : asked.error().message;
}

TEST_F(ImageRequestsTest, OnlyFieldsForTheBackendGoOn) {
  const auto asked = read_generation(
      R"({"model":"sd","prompt":"a \"horse\"","n":3,"size":"auto","quality":"auto","background":"opaque","user":"me",)"
      R"("style":"vivid","moderation":"low","stream":true,"partial_images":2,"seed":7,"steps":4,"cfg_scale":1.5,)"
      R"("response_format":"url","output_format":"jpeg","negative_prompt":null,"unknown":[1]})");
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(asked->body, R"({"model":"sd","prompt":"a \"horse\"","background":"opaque","steps":4,"cfg_scale":1.5,)"
                         R"("output_format":"jpeg","response_format":"b64_json"})");
  EXPECT_EQ(asked->about.model, "sd");
  const auto& facts = asked_of(*asked);
  EXPECT_EQ(facts.n, 3u);
  EXPECT_EQ(facts.seed, 7);
  EXPECT_TRUE(facts.url);
  EXPECT_TRUE(facts.stream);
  EXPECT_TRUE(facts.is_generation);
  EXPECT_EQ(facts.format, "jpeg");
}

TEST_F(ImageRequestsTest, EachCallHasItsNumberAndItsSeed) {
  const auto asked = read_generation(R"({"prompt":"x","n":3,"seed":7})");
  ASSERT_TRUE(asked);
  EXPECT_EQ(call_body(*asked, 3, 0), R"({"prompt":"x","response_format":"b64_json","n":3,"seed":7})");
  EXPECT_EQ(call_body(*asked, 1, 2), R"({"prompt":"x","response_format":"b64_json","n":1,"seed":9})");
  const auto random = read_generation(R"({"prompt":"x","seed":-1})");
  EXPECT_EQ(call_body(*random, 1, 0), R"({"prompt":"x","response_format":"b64_json","n":1})");
}

TEST_F(ImageRequestsTest, LimitsAreCheckedBeforeALoad) {
  EXPECT_EQ(wrong("{}"), "'prompt' is required: a non-empty string");
  EXPECT_EQ(wrong(R"({"prompt":"x","n":11})"), "'n' must be an integer between 1 and 10, not 11");
  constexpr std::string_view kSize =
      "'size' must be auto, or a width and a height of 64 to 2048 pixels in multiples of 8, such as 512x512, not ";
  for (const char* size : {"512", "512x", "x512", "512x513", "56x512", "4096x512", "512x512x512", "-64x64", "0x0",
                           "512X512", " 512x512", "99999999999x64"})
    EXPECT_EQ(wrong(std::string(R"({"prompt":"x","size":")") + size + "\"}"), std::string(kSize) + '"' + size + '"');
  EXPECT_EQ(wrong(R"({"prompt":"x","size":"2048x2048","n":4})"), "fine");
  EXPECT_EQ(wrong(R"({"prompt":"x","size":"2048x2048","n":5})"),
            "'n' images of this 'size' have 20971520 pixels, but a request makes at most 16777216: ask for fewer or "
            "smaller images");
  EXPECT_EQ(wrong(R"({"prompt":"x","background":"transparent"})"),
            R"('background' must be "auto" or "opaque", not "transparent")");
  EXPECT_EQ(wrong(R"({"prompt":"x","sampler":"euler;rm"})"),
            "'sampler' must be a name such as euler_a, not \"euler;rm\"");
  EXPECT_EQ(wrong(R"({"prompt":"x","seed":1.5})"), "'seed' must be an integer between -1 and 2147483647, not 1.5");
}

TEST_F(ImageRequestsTest, AFormIsReadLikeABody) {
  const auto two = read_edit(form({{"model", "sd"},
                                   {"prompt", "with a hat"},
                                   {"n", "2"},
                                   {"strength", "0.5"},
                                   {"stream", "true"},
                                   {"seed", "3"},
                                   {"unknown", "high"},
                                   {"background", ""}},
                                  {{"image[]", png(64, 64)}, {"image[]", png(8, 8)}, {"mask", png(64, 64)}}));
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_THAT(two->form->fields, ElementsAre(Pair("prompt", "with a hat"), Pair("model", "sd"), Pair("strength", "0.5"),
                                             Pair("response_format", "b64_json")));
  ASSERT_EQ(two->form->files.size(), 3u);
  EXPECT_EQ(two->form->files[0].name, "image[]");
  EXPECT_EQ(two->form->files[0].filename, "image.png");
  EXPECT_EQ(two->form->files[0].type, "image/png");
  EXPECT_EQ(two->form->files[2].name, "mask");
  EXPECT_EQ(asked_of(*two).n, 2u);
  EXPECT_TRUE(asked_of(*two).stream);
  EXPECT_FALSE(asked_of(*two).is_generation);
  const auto call = call_form(*two, 1, 1);
  EXPECT_THAT(call->fields, testing::IsSupersetOf({Pair("n", "1"), Pair("seed", "4")}));
}

TEST_F(ImageRequestsTest, AVariationNeedsNoPromptAndHasOneImage) {
  const auto asked = read_variation(form({}));
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(asked->form->files.at(0).name, "image");
  const auto two = read_variation(form({}, {{"image", png(64, 64)}, {"image", png(64, 64)}}));
  EXPECT_EQ(two.error().message, "'image' is there more than once: send fewer images");
}

TEST_F(ImageRequestsTest, FormsAreRefusedWithTheirField) {
  EXPECT_EQ(wrong_form({{"prompt", "x"}, {"n", "many"}}), "'n' must be an integer between 1 and 10, not \"many\"");
  EXPECT_EQ(wrong_form({{"prompt", "x"}, {"n", "1.5"}}), "'n' must be an integer between 1 and 10, not 1.5");
  EXPECT_EQ(wrong_form({{"prompt", "x"}, {"strength", "nan"}}),
            "'strength' must be a number between 0 and 1, not \"nan\"");
  EXPECT_EQ(wrong_form({{"prompt", "x"}, {"stream", "maybe"}}), "'stream' must be true or false, not \"maybe\"");
  EXPECT_EQ(wrong_form({}), "'prompt' is required: a non-empty string");
  EXPECT_EQ(wrong_form({{"prompt", "x"}}, {}), "'image' is required: the image, as a file of the form");
  EXPECT_EQ(wrong_form({{"prompt", "x"}, {"image", "text"}}, {}),
            "'image' must be a file of the form, with a filename, not a text");
  EXPECT_EQ(wrong_form({{"prompt", "x"}}, {{"image", ""}}), "'image' is empty");
  EXPECT_EQ(wrong_form({{"prompt", "x"}}, {{"image", "GIF89a"}}),
            "'image' is not an image in a supported format: send png, jpeg or webp");
  EXPECT_EQ(wrong_form({{"prompt", "x"}}, {{"image", png(50'000, 50'000)}}),
            "'image' has 50000x50000 pixels, at most 33554432 and 16384 on a side are allowed: send a smaller image");
  EXPECT_EQ(wrong_form({{"prompt", "x"}}, {{"image", png(64, 64)}, {"mask", "\x89PNG\r\n\x1a\n"}}),
            "'mask' is a png whose first 65536 bytes have no width and height: save it again, without metadata");
}

TEST_F(ImageRequestsTest, AResultOfALargeImageIsSmaller) {
  const auto size_of = [&](std::uint32_t width, std::uint32_t height, Fields fields = {{"prompt", "x"}}) {
    const auto asked = read_edit(form(std::move(fields), {{"image", png(width, height)}, {"image[]", png(9000, 8)}}));
    const auto* size = asked ? asked->form->find("size") : nullptr;
    return size != nullptr ? *size : "none";
  };
  EXPECT_EQ(size_of(1024, 1024), "none");
  EXPECT_EQ(size_of(1, 1), "none");
  EXPECT_EQ(size_of(4000, 3000), "1152x896");
  EXPECT_EQ(size_of(16384, 16), "2048x64");
  EXPECT_EQ(size_of(16, 16384), "64x2048");
  EXPECT_EQ(size_of(4000, 3000, {{"prompt", "x"}, {"size", "auto"}}), "1152x896");
  EXPECT_EQ(size_of(4000, 3000, {{"prompt", "x"}, {"size", "64x64"}}), "64x64");
}

TEST_F(ImageRequestsTest, OnlyAMaskMayBeGrey) {
  const auto grey = png(64, 64, 0);
  EXPECT_EQ(wrong_form({{"prompt", "x"}}, {{"image[]", png(64, 64)}, {"image[]", grey}}),
            "'image' is a png of shades of grey: save it with colours (RGB)");
  EXPECT_EQ(wrong_form({{"prompt", "x"}}, {{"image", png(64, 64)}, {"mask", grey}}), "fine");
}

TEST(ImageFile, FormatsAndSizes) {
  const auto read = [](std::string_view head) {
    const auto file = read_image_file(head);
    return file ? std::string(file->format) + " " + std::to_string(file->width) + " " + std::to_string(file->height) +
                      (file->is_grey ? " grey" : "")
                : "none";
  };
  EXPECT_EQ(read(png(512, 256)), "png 512 256");
  EXPECT_EQ(read(png(512, 256, 0)), "png 512 256 grey");
  EXPECT_EQ(read(png(512, 256, 4)), "png 512 256 grey");
  // A comment, padding, and the frame.
  EXPECT_EQ(read(std::string_view("\xff\xd8\xff\xfe\0\4hi\xff\xff\xc2\0\x11\x08\1\0\2\0\3", 20)), "jpeg 512 256");
  EXPECT_EQ(read(std::string_view("\xff\xd8\xff\xc0\0\x0b\x08\1\0\2\0\1", 12)), "jpeg 512 256 grey");
  EXPECT_EQ(read(std::string_view("\xff\xd8\xff\xfe\0\0\xff\xc0", 8)), "jpeg 0 0") << "a length that leads nowhere";
  const std::string riff("RIFF\0\0\0\0WEBP", 12);
  EXPECT_EQ(read(riff + std::string("VP8X\0\0\0\0\0\0\0\0\xff\1\0\xff\0\0", 18)), "webp 512 256");
  EXPECT_EQ(read(riff + std::string("VP8L\0\0\0\0\x2f\xff\xc1\x3f\0\0\0\0\0\0", 18)), "webp 512 256");
  EXPECT_EQ(read(riff + std::string("VP8 \0\0\0\0\0\0\0\x9d\1\x2a\0\2\0\1", 18)), "webp 512 256");
  EXPECT_EQ(read(riff), "webp 0 0");
  EXPECT_EQ(read("RIFFWEBP"), "none");
  EXPECT_EQ(read("GIF89a"), "none");
  EXPECT_EQ(read(""), "none");
}

}  // namespace
}  // namespace corral::dialects::images
