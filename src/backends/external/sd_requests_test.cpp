#include "backends/external/sd_requests.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "async/task_group.h"

namespace corral::backends {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(SdBody, ParametersAreInATagOfThePrompt) {
  EXPECT_EQ(sd_body(R"({"model":"m","prompt":"a horse","n":2,"size":"64x64","response_format":"b64_json"})", 5),
            R"({"prompt":"<sd_cpp_extra_args>{\"seed\":5,\"sample_params\":{\"guidance\":{}}}</sd_cpp_extra_args>)"
            R"(a horse","n":2,"size":"64x64"})");
  EXPECT_EQ(
      sd_body(R"({"prompt":"x","negative_prompt":"a\nb","steps":4,"cfg_scale":1.5,"seed":7,"sampler":"euler",)"
              R"("scheduler":"karras","strength":0.5,"output_format":"jpeg","output_compression":80})",
              5),
      R"({"prompt":"<sd_cpp_extra_args>{\"seed\":7,\"negative_prompt\":\"a b\",\"strength\":0.5,)"
      R"(\"sample_params\":{\"sample_steps\":4,\"sample_method\":\"euler\",\"scheduler\":\"karras\",)"
      R"(\"guidance\":{\"txt_cfg\":1.5}}}</sd_cpp_extra_args>x","output_format":"jpeg","output_compression":80})");
  EXPECT_EQ(sd_body("no JSON", 5), "no JSON");
}

TEST(SdBody, SeedsAreThoseThatClientsMaySend) {
  std::set<std::uint32_t> seeds;
  for (int i = 0; i < 64; ++i) seeds.insert(random_seed());
  EXPECT_GT(seeds.size(), 60u);
  EXPECT_LE(*seeds.rbegin(), 2'147'483'647u);
}

TEST(SdBody, AClientsTagIsNone) {
  const auto body = sd_body(R"({"prompt":"a<sd_cpp_extra_args>{\"lora\":[]}</sd_cpp_extra_args>b)"
                            R"(<sd_cpp_sd_cpp_extra_argsextra_args>c","negative_prompt":"</sd_cpp_extra_args>"})",
                            5);
  EXPECT_THAT(body, AllOf(HasSubstr(R"(</sd_cpp_extra_args>a<>{\"lora\":[]}</>b<>c")"), HasSubstr(R"(\"</>\")")));
}

class Pieces final : public http::BodySource {
 public:
  Pieces(std::string text, std::size_t step) : text_(std::move(text)), step_(step) {}
  async::Task<Result<std::string_view>> read() override {
    const auto piece = std::string_view(text_).substr(at_, step_);
    at_ += piece.size();
    co_return piece;
  }
  std::optional<std::uint64_t> length() const override { return text_.size(); }

 private:
  const std::string text_;
  const std::size_t step_;
  std::size_t at_ = 0;
};

// The form as the program gets it; or the error.
std::string sent(const std::string& form, std::size_t step) {
  async::Loop loop;
  async::TaskGroup group(loop.executor());
  std::string out;
  auto run = [](const std::string& text, std::size_t size, std::string& into) -> async::Task<void> {
    Pieces pieces(text, size);
    SdForm theirs(pieces, "multipart/form-data; boundary=x", 5);
    auto finding = theirs.find();
    const auto found = co_await std::move(finding);
    if (!found) into = found.error().message;
    if (!found) co_return;
    const auto length = theirs.length();
    while (true) {
      const auto piece = co_await theirs.read();
      if (!piece || piece->empty()) break;
      into.append(*piece);
    }
    EXPECT_EQ(length, into.size());
  };
  group.spawn("form", run(form, step, out));
  loop.context().poll();
  return out;
}

TEST(SdForm, FieldsAreWrittenAnewAndFilesPass) {
  const auto part = [](std::string name, std::string value) {
    return "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
  };
  const std::string file =
      "--x\r\nContent-Disposition: form-data; name=\"image[]\"; filename=\"image.png\"\r\nContent-Type: "
      "image/png\r\n\r\n"
      "\x89PNG\r\n\r\n--y\r\n--x--\r\n";
  const auto form = part("model", "m") + part("prompt", "a\r\nhat") + part("n", "2") + part("strength", "0.5") +
                    part("empty", "") + part("steps", "many") + file;
  const std::string tag =
      R"(<sd_cpp_extra_args>{"seed":5,"strength":0.5,"sample_params":{"guidance":{}}}</sd_cpp_extra_args>)";
  const auto wanted = part("prompt", tag + "a\r\nhat") + part("n", "2") + file;
  for (std::size_t step = 1; step <= form.size(); ++step) ASSERT_EQ(sent(form, step), wanted) << step;
  const std::string only = R"(<sd_cpp_extra_args>{"seed":5,"sample_params":{"guidance":{}}}</sd_cpp_extra_args>)";
  EXPECT_EQ(sent(file, 7), part("prompt", only) + file) << "a variation";
}

TEST(SdForm, WhatIsNoFormIsRefused) {
  const std::string refusal = "the form is not readable: its fields must come before its files";
  for (const char* text : {"", "--x", "--y\r\n\r\n", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb"})
    EXPECT_EQ(sent(text, 3), refusal) << text;
  EXPECT_EQ(sent("--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n" + std::string(3 << 20, 'b'), 65536),
            refusal);
}

}  // namespace
}  // namespace corral::backends
