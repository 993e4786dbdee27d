// What is found in pictures and sound without decoding them.
#include "protocol/media.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/base64.h"
#include "protocol/errors.h"
#include "protocol/requests.h"

namespace corral::protocol {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

const std::string kPng = "data:image/png;base64,iVBORw0KGgo=";

std::string picture(std::string_view url) {
  return R"({"type":"image_url","image_url":{"url":")" + std::string(url) + R"("}})";
}
std::string chat_of(std::string_view parts) {
  return R"({"model":"m","messages":[{"role":"user","content":[)" + std::string(parts) + "]}]}";
}
std::string refusal(std::string_view parts) {
  const auto checked = check(chat_of(parts), chat_fields());
  return checked ? "" : checked.error().message;
}

TEST(Base64, BytesComeBackAndFaultsAreNamed) {
  EXPECT_EQ(from_base64(""), "");
  EXPECT_EQ(from_base64("Zg=="), "f");
  EXPECT_EQ(from_base64("Zg"), "f");
  EXPECT_EQ(from_base64("Zm8="), "fo");
  EXPECT_EQ(from_base64("//79/A=="), "\xff\xfe\xfd\xfc");
  EXPECT_EQ(base64_size("//79/A=="), 4u);
  EXPECT_EQ(base64_fault("Zm9v"), "");
  EXPECT_EQ(base64_fault("Zm9v\nZm9v"), "has a line break at position 4");
  EXPECT_EQ(base64_fault("Zm-v"), "has '-' at position 2");
  EXPECT_EQ(base64_fault("Zm v"), "has the byte 0x20 at position 2");
  EXPECT_EQ(base64_fault("Zm9vZ"), "ends in the middle of a byte, after 5 digits");
  EXPECT_EQ(base64_fault("Zg="), "has 2 digits and 1 '=' behind them, which is not a multiple of 4");
  EXPECT_EQ(base64_fault("Z==="), "has '=' at position 1");
  EXPECT_EQ(from_base64("Zm-v"), std::nullopt);
}

TEST(Media, PicturesAreKnownByTheirFirstBytes) {
  EXPECT_EQ(picture_type("\x89PNG\r\n"), "image/png");
  EXPECT_EQ(picture_type("\xff\xd8\xff\xe0"), "image/jpeg");
  EXPECT_EQ(picture_type("GIF89a"), "image/gif");
  EXPECT_EQ(picture_type("RIFF1234WEBPVP8 "), "image/webp");
  EXPECT_EQ(picture_type("RIFF1234WAVE"), "");
  EXPECT_EQ(picture_type("RIFF"), "");
  EXPECT_EQ(picture_type("BM"), "");
}

TEST(Media, GoodPartsPassInAllForms) {
  EXPECT_EQ(refusal(picture(kPng)), "");
  EXPECT_EQ(refusal(R"({"type":"image_url","image_url":"data:image/png;base64,iVBORw0KGgo="})"), "");
  EXPECT_EQ(refusal(picture("data:image/jpeg;base64,iVBORw0KGgo=")), "") << "the bytes decide";
  EXPECT_EQ(refusal(picture("data:image/jpg;name=a;base64,/9j/4A==")), "");
  EXPECT_EQ(refusal(picture("https://example.com/a.png")), "") << "the API decides";
  EXPECT_EQ(refusal(R"({"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}})"), "");
  EXPECT_EQ(refusal(R"({"type":"text","text":"a","image_url":{"url":"no"}})"), "") << "not of this type";
}

TEST(Media, RefusalsNameThePlaceAndTheValue) {
  const std::string place = "'messages[0].content[0].image_url.url' ";
  const std::string form =
      place + "must be a data URL in base64 (\"data:image/png;base64,...\") or an http or https URL, not ";
  EXPECT_EQ(refusal(picture("x.png")), form + "\"x.png\"");
  EXPECT_EQ(refusal(picture("file:///etc/passwd")), form + "\"file:///etc/passwd\"");
  EXPECT_EQ(refusal(picture("data:image/png,x")), form + "\"data:image/png,x\"");
  EXPECT_EQ(refusal(picture("data:image/png;base64")), form + "\"data:image/png;base64\"");
  EXPECT_EQ(refusal(picture("data:image/bmp;base64,Qk0=")),
            place + "has the type \"image/bmp\", but only PNG, JPEG, WebP and GIF are supported: convert the picture");
  EXPECT_EQ(refusal(picture("data:image/png;base64,")), place + "has no data: send the picture in base64");
  EXPECT_EQ(refusal(picture("data:image/png;base64,iVBO Rw0")),
            place +
                "is not valid base64, it has the byte 0x20 at position 4: encode the picture again, without line "
                "breaks");
  EXPECT_EQ(refusal(picture("data:image/png;base64,QUJD")),
            place +
                "is no picture that can be read: its data begins with \"QUJD\", but only PNG, JPEG, WebP and GIF "
                "are supported");
  EXPECT_EQ(refusal(R"({"type":"image_url","image_url":{}})"), place + "is required: a string");
  EXPECT_EQ(refusal(R"({"type":"image_url"})"),
            "'messages[0].content[0].image_url' is required: it is part of this type");
  EXPECT_EQ(refusal(picture("http://x/" + std::string(kMaxWebUrl, 'a'))),
            place + "is a URL of 8201 bytes, at most 8192 are allowed: use a shorter one, or send a data URL");
  EXPECT_EQ(refusal(R"({"type":"input_audio","input_audio":{"data":"!","format":"wav"}})"),
            "'messages[0].content[0].input_audio.data' is not valid base64, it has '!' at position 0: encode the sound "
            "again, without line breaks");
  EXPECT_EQ(refusal(R"({"type":"input_audio","input_audio":{"data":"UklGRg==","format":"ogg"}})"),
            "'messages[0].content[0].input_audio.format' must be \"wav\", \"mp3\" or \"flac\", not \"ogg\"");
}

TEST(Media, TheyAreCountedAndMeasured) {
  std::string parts = picture(kPng);
  for (std::size_t i = 1; i < kMaxMedia; ++i) parts += "," + picture(kPng);
  EXPECT_EQ(refusal(parts), "");
  EXPECT_EQ(refusal(parts + "," + picture(kPng)),
            "'messages' has 33 pictures and sounds in all, at most 32 are allowed: omit old ones");
  const std::string large = "iVBORw0K" + std::string((kMaxMediaBytes / 3 + 1) * 4, 'A');
  EXPECT_EQ(refusal(picture("data:image/png;base64," + large)),
            "'messages[0].content[0].image_url.url' has 20971527 bytes, at most 20971520 are allowed: send a smaller "
            "picture");
}

TEST(Media, ARequestTellsWhatItHas) {
  const auto sound = R"({"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}})";
  const auto peeked = check(chat_of(picture(kPng) + "," + picture("http://x/a") + "," + sound +
                                    R"(,{"type":"video_url","video_url":{"url":"x"}})"),
                            chat_fields());
  ASSERT_TRUE(peeked) << peeked.error().message;
  EXPECT_EQ(peeked->media.pictures, 2u);
  EXPECT_EQ(peeked->media.urls, 1u);
  EXPECT_EQ(peeked->media.sounds, 1u);
  EXPECT_EQ(peeked->media.videos, 1u);
  EXPECT_TRUE(peeked->media.canonical);
  EXPECT_FALSE(check(chat_of(R"({"type":"text","text":"a"})"), chat_fields())->media.any());
  EXPECT_FALSE(check(chat_of(R"({"type":"image_url","image_url":"http://x/a"})"), chat_fields())->media.canonical);
}

TEST(Media, UrlsOfTheWebAreReplacedInTheirOrder) {
  const std::string body =
      R"({"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","name":"u","content":[)" +
      picture("http://x/a") + R"(,{"type":"text","text":"b"},)" + picture(kPng) +
      R"(,{"type":"image_url","image_url":"HTTPS://x/c"}]}],"stream":true})";
  const auto peek = json::Peek::open(body);
  ASSERT_TRUE(peek);
  EXPECT_THAT(web_pictures(peek->root().find("messages")),
              ElementsAre(testing::AllOf(Field(&WebPicture::place, "messages[1].content[0].image_url.url"),
                                         Field(&WebPicture::url, "http://x/a")),
                          testing::AllOf(Field(&WebPicture::place, "messages[1].content[3].image_url"),
                                         Field(&WebPicture::url, "HTTPS://x/c"))));
  const std::vector<std::string> data = {"data:image/gif;base64,R0lGODlh", "data:image/jpeg;base64,/9j/4A=="};
  EXPECT_EQ(with_data_urls(peek->root(), data),
            R"({"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","name":"u","content":[)" +
                picture(data[0]) + R"(,{"type":"text","text":"b"},)" + picture(kPng) + "," + picture(data[1]) +
                R"(]}],"stream":true})");
}

TEST(Media, OfEqualMembersTheLastIsRewritten) {
  const auto peek =
      json::Peek::open(R"({"messages":[1],"messages":[{"content":"a","content":[)" + picture("http://x/a") + "]}]}");
  ASSERT_TRUE(peek);
  const std::vector<std::string> data = {kPng};
  EXPECT_EQ(with_data_urls(peek->root(), data), R"({"messages":[{"content":[)" + picture(kPng) + "]}]}");
  EXPECT_THAT(web_pictures({}), IsEmpty());
}

}  // namespace
}  // namespace corral::protocol
