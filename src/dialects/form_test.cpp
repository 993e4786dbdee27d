// What is found in forms, however they come.
#include "dialects/form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "http/errors.h"
#include "protocol/errors.h"

namespace corral::dialects {
namespace {

constexpr const char* kType = "multipart/form-data; boundary=xyz";

std::string part(const std::string& disposition, const std::string& value) {
  return "--xyz\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + value + "\r\n";
}

class Pieces final : public http::BodySource {
 public:
  Pieces(std::string form, std::size_t size, std::size_t& taken) : form_(std::move(form)), size_(size), taken_(taken) {}
  async::Task<Result<std::string_view>> read() override {
    const auto piece = std::string_view(form_).substr(taken_, size_);
    taken_ += piece.size();
    co_return piece;
  }
  std::optional<std::uint64_t> length() const override { return form_.size(); }

 private:
  const std::string form_;
  const std::size_t size_;
  std::size_t& taken_;
};

struct Found {
  Result<std::string> value;
  std::size_t taken = 0;  // bytes, before the form was passed on
  std::string passed;
};

Found find(const std::string& form, std::size_t size = 1, std::size_t limit = 1 << 20) {
  async::Loop loop;
  std::size_t taken = 0;
  auto form_found =
      async::run_blocking(loop, find_in_form(kType, std::make_unique<Pieces>(form, size, taken), "model", limit));
  Found found{fail(protocol::errc::bad_value, "-"), taken, {}};
  if (!form_found) {
    found.value = std::unexpected(form_found.error());
    return found;
  }
  found.value = form_found->value;
  EXPECT_EQ(form_found->body->length(), form.size());
  auto all = [](http::BodySource& body) -> async::Task<std::string> {
    std::string text;
    while (true) {
      const auto piece = co_await body.read();
      if (!piece || piece->empty()) co_return text;
      text.append(*piece);
    }
  };
  found.passed = async::run_blocking(loop, all(*form_found->body));
  return found;
}

TEST(Form, TheModelIsFoundBeforeTheFileIsReadAndAllPassesUntouched) {
  const auto head = part(R"(name="model")", "whisper:base");
  const auto form = head + part(R"(name="file"; filename="a.wav")", std::string(10'000, 's')) + "--xyz--\r\n";
  for (const std::size_t size : {1u, 7u, 64u}) {
    const auto found = find(form, size);
    EXPECT_EQ(found.value, "whisper:base");
    EXPECT_LE(found.taken, head.size() + 10 + size) << "nothing is read ahead of need";
    EXPECT_EQ(found.passed, form);
  }
  EXPECT_EQ(find(form, form.size()).passed, form);
}

TEST(Form, AFileMayComeFirstAndLookLikeAForm) {
  const auto trick = std::string("\r\n--xy\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nother\r\n--xyzz");
  const auto form = part(R"(name="file"; filename="--xyz")", "\r\n\r\n" + trick.substr(0, trick.size() - 7)) +
                    part(R"(filename="b"; name="model")", "a file of that name") + part("name=model", "right") +
                    "--xyz--";
  for (const std::size_t size : {1u, 3u, 1000u}) {
    const auto found = find(form, size);
    EXPECT_EQ(found.value, "right");
    EXPECT_EQ(found.passed, form);
  }
}

TEST(Form, WithoutOneItIsReadToItsEnd) {
  const auto form = part(R"(name="file"; filename="a")", "s") + "--xyz--\r\n";
  EXPECT_EQ(find(form).value, "");
  EXPECT_EQ(find(form).passed, form);
  EXPECT_EQ(find("no form at all", 3).value, "");
  EXPECT_EQ(find("no form at all", 3).passed, "no form at all");
  EXPECT_EQ(find("").value, "");
  EXPECT_EQ(find(part("name=model", std::string(FormScan::kLongestField + 1, 'x')) + "--xyz--").value, "");
}

TEST(Form, WhatComesTooLateIsRefusedWithTheWayOut) {
  const auto form = part(R"(name="file"; filename="a")", std::string(5000, 's')) + part("name=model", "m") + "--xyz--";
  const auto found = find(form, 100, 4000);
  ASSERT_FALSE(found.value);
  EXPECT_EQ(found.value.error().code, http::errc::too_large);
  EXPECT_THAT(found.value.error().message, testing::HasSubstr("before the files"));
}

TEST(Form, CostsTheSameByteByByte) {
  std::string form = part(R"(name="file"; filename="a")", std::string(1 << 20, '\r'));
  FormScan scan("xyz", "model");
  for (std::size_t size = 0; size <= form.size(); ++size) scan.look(std::string_view(form).substr(0, size));
  EXPECT_FALSE(scan.ended());
  EXPECT_FALSE(scan.value());
}

// All short fields were kept, and a form of nothing else took several times its size.
TEST(Form, KeepsTheFirstOfItsNameOnly) {
  FormScan scan("xyz", "model");
  scan.look(part("name=model", "a") + part("name=model", "b") + part("name=other", "c") + "--xyz--");
  EXPECT_TRUE(scan.ended());
  EXPECT_EQ(scan.value(), "a");
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
