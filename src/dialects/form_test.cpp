// What is found in forms, however they come, and what is made of it.
#include "dialects/form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "http/errors.h"
#include "protocol/errors.h"

namespace corral::dialects {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kType = "multipart/form-data; boundary=xyz";

std::string part(const std::string& disposition, const std::string& value) {
  return "--xyz\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + value + "\r\n";
}

class FormPieces final : public http::BodySource {
 public:
  FormPieces(std::string form, std::size_t size) : form_(std::move(form)), size_(size) {}
  async::Task<Result<std::string_view>> read() override {
    const auto piece = std::string_view(form_).substr(taken_, size_);
    taken_ += piece.size();
    co_return piece;
  }

 private:
  const std::string form_;
  const std::size_t size_;
  std::size_t taken_ = 0;
};

class FormTest : public testing::Test {
 protected:
  Result<Form> read(const std::string& form, std::size_t size = 1, const char* type = kType) {
    return async::run_blocking(loop, read_form(type, std::make_unique<FormPieces>(form, size), room));
  }
  std::string text_of(http::BodySource& body) {
    auto all = [](http::BodySource& source) -> async::Task<std::string> {
      std::string text;
      while (true) {
        const auto piece = co_await source.read();
        if (!piece || piece->empty()) co_return text;
        text.append(*piece);
      }
    };
    return async::run_blocking(loop, all(body));
  }
  std::string bytes_of(const FormFile& file) { return text_of(*http::Spool::reader(file.bytes)); }
  std::string message(const std::string& form, std::size_t size = 1000, const char* type = kType) {
    const auto found = read(form, size, type);
    return found ? "fine" : found.error().message;
  }

  async::Loop loop;
  http::SpoolRoom room{testing::TempDir(), 8 << 20, nullptr};
};

TEST_F(FormTest, FieldsAndFilesAreFoundInWhateverPiecesTheyCome) {
  const std::string sound(70'000, 's');
  const auto trick = std::string("\r\n--xy\r\n\r\n--xy\r\nContent-Disposition: form-data; name=\"model\"");
  const auto form = part(R"(name="file"; filename="--xyz.wav")", sound + trick) + part("name=model", "whisper:base") +
                    part(R"(name="empty")", "") + part(R"(name="g[]")", "word") + part(R"(name="g[]")", "segment") +
                    "--xyz--\r\nwhatever";
  for (const std::size_t size : {1u, 7u, 64u, 1'000'000u}) {
    auto found = read(form, size);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_THAT(found->fields, ElementsAre(Pair("model", "whisper:base"), Pair("empty", ""), Pair("g[]", "word"),
                                           Pair("g[]", "segment")));
    EXPECT_EQ(*found->find("model"), "whisper:base");
    EXPECT_EQ(found->find("none"), nullptr);
    EXPECT_THAT(found->all("g"), ElementsAre("word", "segment"));
    ASSERT_EQ(found->files.size(), 1u);
    EXPECT_EQ(found->files[0].filename, "--xyz.wav");
    EXPECT_EQ(bytes_of(found->files[0]), sound + trick);
  }
  EXPECT_EQ(room.used(), 0u) << "what was kept went with the form";
}

TEST_F(FormTest, IsWrittenAsItWasAndCanBeSentTwice) {
  const std::string sound(200'000, 'x');
  auto found = read(part("name=model", "m") + part(R"(name="file"; filename="a.wav")", sound) + "--xyz--", 10'000);
  ASSERT_TRUE(found);
  found->files[0].type = "audio/wav";
  auto written = write_form(*found);
  const auto text = text_of(*written.body);
  EXPECT_EQ(written.body->length(), text.size());
  written.body->rewind();
  EXPECT_EQ(text_of(*written.body), text);
  auto again = read(text, 10'000, written.content_type.c_str());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->fields, found->fields);
  EXPECT_EQ(bytes_of(again->files[0]), sound);
  EXPECT_EQ(again->files[0].type, "audio/wav");
  EXPECT_EQ(write_form(*again).body->key(), written.body->key()) << "known by what is in it";
}

// What RFC 2046 §5.1.1 allows, in pieces of several sizes.
TEST_F(FormTest, EveryLegalFormIsRead) {
  const auto one = part("name=a", "b"), last = std::string("--xyz--");
  const std::string about = "Content-Disposition: form-data; name=";
  const std::pair<std::string, std::string> rows[] = {
      {"a preamble", "This is a form.\r\nIt has --xyz and\r\n --xyz in its preamble.\r\n" + one + last},
      {"a long preamble", std::string(100'000, '-') + "\r\n" + one + last},
      {"an empty line first", "\r\n" + one + last},
      {"empty lines first", "\r\n\r\n\r\n" + one + last},
      {"blanks behind the boundaries", "--xyz \t  \r\n" + about + "a\r\n\r\nb\r\n--xyz--  \r\n"},
      {"all blanks that there may be",
       "--xyz" + std::string(FormLimits::kPadding, ' ') + "\r\n" + about + "a\r\n\r\nb\r\n--xyz--"},
      {"an epilogue", one + last + "\r\nThis is behind it.\r\n" + part("name=c", "d") + last},
      {"nothing behind it", one + last},
      {"folded lines", "--xyz\r\nContent-Disposition: form-data;\r\n\tname=a\r\n\r\nb\r\n--xyz--"},
      {"other fields, in any case",
       "--xyz\r\nX-Other: 1\r\ncontent-disposition : Form-Data ; NAME = \"a\"\r\nContent-Transfer-Encoding: "
       "8BIT\r\n\r\nb\r\n--xyz--"},
  };
  for (const auto& [what, form] : rows) {
    for (const std::size_t size : {1u, 3u, 64u, 1'000'000u}) {
      const auto found = read(form, size);
      ASSERT_TRUE(found) << what << ": " << found.error().message;
      EXPECT_THAT(found->fields, ElementsAre(Pair("a", "b"))) << what;
      EXPECT_TRUE(found->files.empty()) << what;
    }
  }
}

TEST_F(FormTest, APartMayEndWithItsHead) {
  for (const std::size_t size : {1u, 3u, 64u, 1'000'000u}) {
    const auto found = read(
        "--xyz\r\nContent-Disposition: form-data; name=a\r\n\r\n--xyz\r\nContent-Disposition: "
        "form-data; name=c\r\n\r\n\r\nd\r\n--xyz--",
        size);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_THAT(found->fields, ElementsAre(Pair("a", ""), Pair("c", "\r\nd")));
  }
}

TEST_F(FormTest, NamesMayBeQuotedAndCoded) {
  const std::pair<std::string, std::string> rows[] = {
      {R"(filename="a \"b\" \\c.wav")", R"(a "b" \c.wav)"},
      {R"(filename="C:\sounds\a.wav")", R"(C:\sounds\a.wav)"},
      {R"(filename="a; name=b.wav")", "a; name=b.wav"},
      {R"(filename*=utf-8''gr%C3%BC%C3%9F+e.wav)", "gr\xc3\xbc\xc3\x9f+e.wav"},
      {R"(filename*=UTF-8'en'a%20b.wav; filename="plain.wav")", "plain.wav"},
      {R"(filename="")", ""},
  };
  for (const auto& [parameter, name] : rows) {
    const auto found = read(part("name=file; " + parameter, "sound") + "--xyz--");
    ASSERT_TRUE(found) << parameter << found.error().message;
    ASSERT_EQ(found->files.size(), 1u) << parameter;
    EXPECT_EQ(found->files[0].filename, name);
    EXPECT_EQ(found->files[0].name, "file");
  }
}

TEST_F(FormTest, WhatIsNoFormIsRefused) {
  const std::string none =
      "the body is not a form (multipart/form-data): no line of it starts with its boundary '--xyz'";
  EXPECT_EQ(message("no form at all"), none);
  EXPECT_EQ(message("no --xyz at the beginning of a line"), none);
  EXPECT_EQ(message(""), none);
  EXPECT_EQ(message("--xyz" + std::string(FormLimits::kPadding + 1, ' ')),
            "the body is not a form (multipart/form-data): more than 1024 blanks follow a boundary");
  EXPECT_EQ(message("--xyz\r\n\r\nb\r\n--xyz--"), "the body is not a form (multipart/form-data): a part has no name");
  EXPECT_EQ(message("--xyz\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: "
                    "base64\r\n\r\nYg==\r\n--xyz--"),
            "'a' has the Content-Transfer-Encoding 'base64'; send it as it is, which is 'binary'");
  EXPECT_THAT(message(part("name=a", "b")), HasSubstr("ends without its last boundary"));
  EXPECT_THAT(message("--xyz\r\nContent-Disposition: form-data\r\n\r\nb\r\n--xyz--"), HasSubstr("no name"));
  EXPECT_THAT(message("--xyz\r\n" + std::string(9000, 'h')), HasSubstr("head of a part"));
  EXPECT_THAT(message(part("name=a", "b") + "--xyzzz"), HasSubstr("after a boundary"));
  EXPECT_EQ(message("--xyz--"), "fine");
  EXPECT_THAT(message("--xyz--", 5, "application/json"), HasSubstr("must be a form"));
}

TEST_F(FormTest, WhatAFormMayHaveIsBounded) {
  EXPECT_THAT(message(part("name=prompt", std::string(FormLimits::kField + 1, 'p')) + "--xyz--"),
              HasSubstr("'prompt' is too long"));
  std::string many, files, large;
  for (std::size_t i = 0; i <= FormLimits::kParts; ++i) many += part("name=a", "");
  for (std::size_t i = 0; i <= FormLimits::kFiles; ++i) files += part("name=a; filename=b", "");
  for (std::size_t i = 0; i < 5; ++i) large += part("name=a", std::string(60'000, 'a'));
  EXPECT_THAT(message(many + "--xyz--"), HasSubstr("at most 64 parts"));
  EXPECT_THAT(message(files + "--xyz--"), HasSubstr("at most 16 files"));
  EXPECT_THAT(message(large + "--xyz--"), HasSubstr("together"));
}

TEST_F(FormTest, FilesOfAllTogetherAreBounded) {
  const auto form = part("name=a; filename=b", std::string(9 << 20, 's')) + "--xyz--";
  const auto found = read(form, 1 << 20);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, http::errc::uploads_full);
  EXPECT_TRUE(found.error().retry_after);
  EXPECT_THAT(found.error().message, HasSubstr("max_uploads_bytes"));
  EXPECT_EQ(room.used(), 0u);
}

TEST_F(FormTest, AFolderThatCantBeWrittenIsNamed) {
  http::SpoolRoom nowhere("/proc/nowhere", 0, nullptr);
  const auto form = part("name=a; filename=b", std::string(1 << 20, 's')) + "--xyz--";
  const auto found = async::run_blocking(loop, read_form(kType, std::make_unique<FormPieces>(form, 1 << 18), nowhere));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, http::errc::not_kept);
  EXPECT_THAT(found.error().message, HasSubstr("/proc/nowhere"));
}

TEST(Form, CostsTheSameByteByByte) {
  FormParser parser("xyz");
  std::vector<FormParser::Event> events;
  ASSERT_TRUE(parser.feed(part(R"(name="file"; filename="a")", ""), events));
  for (std::size_t i = 0; i < (1 << 20); ++i) {
    events.clear();
    ASSERT_TRUE(parser.feed("\r", events));
  }
  EXPECT_FALSE(parser.finish());
}

TEST(Form, OtherTypesAreRefused) {
  for (const char* type : {"", "application/json", "multipart/form-data", "multipart/form-data; boundary=",
                           "multipart/mixed; boundary=x", "multipart/form-data; boundary=\"x"}) {
    EXPECT_EQ(boundary_of(type), std::nullopt) << type;
  }
  EXPECT_EQ(boundary_of("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\""), "a b");
  EXPECT_EQ(boundary_of("multipart/form-data;boundary=----x; y=z"), "----x");
  EXPECT_EQ(boundary_of("multipart/form-data; boundary=" + std::string(71, 'x')), std::nullopt);
}

}  // namespace
}  // namespace corral::dialects
