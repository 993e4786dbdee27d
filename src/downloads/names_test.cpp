#include "downloads/names.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "downloads/errors.h"

namespace corral::downloads {
namespace {

TEST(SourceNames, SayWhichFilesAreMeant) {
  struct Case {
    const char* text;
    SourceName name;
  };
  const SourceName plain{.repo = "Qwen/Qwen3-0.6B-GGUF", .revision = "main"};
  SourceName main_file = plain;
  main_file.file = "sub/a.gguf";
  SourceName tagged = plain, filed = plain, deep = plain, at = plain, pull = plain, spaced = plain, odd = plain;
  odd.tag = "my model (v2) [x]+é";
  tagged.tag = "Q8_0";
  filed.file = "Qwen3-0.6B-Q8_0.gguf";
  deep.file = "Q8_0/a-00001-of-00002.gguf";
  at.file = "a.gguf";
  at.revision = "v1";
  pull.revision = "refs/pr/1";
  pull.file = "a.gguf";
  spaced.file = "a b.gguf";
  const std::vector<Case> cases = {
      {"Qwen/Qwen3-0.6B-GGUF", plain},
      {"hf.co/Qwen/Qwen3-0.6B-GGUF", plain},
      {"HuggingFace.co/Qwen/Qwen3-0.6B-GGUF", plain},
      {"https://huggingface.co/Qwen/Qwen3-0.6B-GGUF", plain},
      {"https://huggingface.co/Qwen/Qwen3-0.6B-GGUF/", plain},
      {"https://huggingface.co/Qwen/Qwen3-0.6B-GGUF/tree/main", plain},
      {"hf://Qwen/Qwen3-0.6B-GGUF", plain},
      {"hf.co/Qwen/Qwen3-0.6B-GGUF:latest", plain},
      {"HF.CO/Qwen/Qwen3-0.6B-GGUF:Q8_0", tagged},
      {"https://www.huggingface.co/Qwen/Qwen3-0.6B-GGUF?library=llama.cpp", plain},
      {"https://hf.co/Qwen/Qwen3-0.6B-GGUF/tree/main/Q8_0", tagged},
      {"hf.co/Qwen/Qwen3-0.6B-GGUF/sub/a.gguf", main_file},
      {"https://huggingface.co/Qwen/Qwen3-0.6B-GGUF/raw/main/sub/a.gguf", main_file},
      {"https://huggingface.co/Qwen/Qwen3-0.6B-GGUF/tree/main?show_file_info=sub%2Fa.gguf&x=1", main_file},
      {"https://huggingface.co/Qwen/Qwen3-0.6B-GGUF?show_file_info=sub%2Fa.gguf", main_file},
      {"Qwen/Qwen3-0.6B-GGUF:Q8_0", tagged},
      {"hf.co/Qwen/Qwen3-0.6B-GGUF:Q8_0", tagged},
      {"Qwen/Qwen3-0.6B-GGUF:Qwen3-0.6B-Q8_0.gguf", filed},
      {"Qwen/Qwen3-0.6B-GGUF:Q8_0/a-00001-of-00002.gguf", deep},
      {"https://huggingface.co/Qwen/Qwen3-0.6B-GGUF/resolve/v1/a.gguf?download=true", at},
      {"https://huggingface.co/Qwen/Qwen3-0.6B-GGUF/blob/v1/a.gguf", at},
      {"https://huggingface.co/Qwen/Qwen3-0.6B-GGUF/blob/refs/pr/1/a.gguf", pull},
      {"https://huggingface.co/Qwen/Qwen3-0.6B-GGUF/blob/main/a%20b.gguf", spaced},
      {"Qwen/Qwen3-0.6B-GGUF:my model (v2) [x]+é", odd},
      {"hf.co/Qwen/Qwen3-0.6B-GGUF:my model (v2) [x]+é", odd},
      {"Qwen/Qwen3-0.6B-GGUF:a b.gguf", spaced},
      {"hf.co/Qwen/Qwen3-0.6B-GGUF/a b.gguf", spaced},
      {"https://example.com/x/y.gguf?key=1",
       {.kind = SourceKind::address, .address = "https://example.com/x/y.gguf?key=1"}},
      {"http://127.0.0.1:8080/y.GGUF", {.kind = SourceKind::address, .address = "http://127.0.0.1:8080/y.GGUF"}},
      {"ollama.com/library/qwen3:0.6b", {.kind = SourceKind::ollama, .repo = "library/qwen3", .tag = "0.6b"}},
      {"https://ollama.com/library/qwen3", {.kind = SourceKind::ollama, .repo = "library/qwen3", .tag = "latest"}},
      {"ollama://qwen3:8b", {.kind = SourceKind::ollama, .repo = "library/qwen3", .tag = "8b"}},
      {"registry.ollama.ai/someone/x:y", {.kind = SourceKind::ollama, .repo = "someone/x", .tag = "y"}},
  };
  for (const Case& one : cases) {
    const auto name = parse_source(one.text);
    ASSERT_TRUE(name) << one.text << ": " << name.error().message;
    EXPECT_EQ(*name, one.name) << one.text;
  }
}

TEST(SourceNames, TheProjectorMayBeLeftOut) {
  const auto name = parse_source("org/repo:Q8_0#no-mmproj");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->tag, "Q8_0");
  EXPECT_FALSE(name->projector);
  EXPECT_FALSE(parse_source("org/repo#no-mmproj")->projector);
  EXPECT_FALSE(parse_source("ollama://x#no-mmproj")->projector);
  EXPECT_FALSE(parse_source("https://example.com/y.gguf#no-mmproj")->projector);
  EXPECT_TRUE(parse_source("org/repo")->projector);
  EXPECT_FALSE(is_tag("x#no-mmproj"));
  EXPECT_FALSE(parse_source("#no-mmproj"));
}

// What a list of variants shows can be downloaded.
TEST(SourceNames, ATagIsReadBackAsItself) {
  for (const auto* tag : {"Q4_K_M", "a b", "x+y", "[v2]", "é"}) {
    ASSERT_TRUE(is_tag(tag)) << tag;
    const auto name = parse_source(std::string("org/repo:") + tag);
    ASSERT_TRUE(name) << tag << ": " << name.error().message;
    EXPECT_EQ(name->repo, "org/repo");
  }
  for (const auto* no_tag : {"x:", "", "a/b", "x.gguf", "latest"}) EXPECT_FALSE(is_tag(no_tag)) << no_tag;
}

TEST(SourceNames, RefuseWhatIsHostileOrMeansNothing) {
  using namespace std::string_literals;
  const std::vector<std::string> cases = {
      "",
      "qwen3",
      "a/b/c",
      "/etc/passwd",
      "~/x.gguf",
      "./x.gguf",
      "../../x",
      "a/..",
      "../a",
      "a/b:",
      "a/b:../x.gguf",
      "a/b:/x.gguf",
      "a/b:x//y.gguf",
      "a/b:x/../y.gguf",
      "a/b:..",
      "a /b:Q4_K",
      "a/b :Q4_K",
      "a/b:Q4\\K",
      "a/b\0c"s,
      "a/b\nc",
      "a/b\x1b[2J",
      "a\\b/c",
      "a--b/c",
      "-a/b",
      "a/b.",
      "a/\xff",
      std::string(200, 'a') + "/b",
      "a/" + std::string(2000, 'b'),
      "a/b:" + std::string(300, 'Q'),
      "ftp://x/y.gguf",
      "file:///x.gguf",
      "https://x/y.bin",
      "https:///y.gguf",
      "https://user:password@x/y.gguf",
      "https://x/%2e%2e/y.gguf",
      "https://x/y%00.gguf",
      "https://x/y%zz.gguf",
      "https://x y/z.gguf",
      "https://x/y z.gguf",
      "https://huggingface.co/a/b/resolve/main/../x.gguf",
      "https://huggingface.co/a/b/resolve/main/%2e%2e/x.gguf",
      "https://huggingface.co/a/b/resolve/main/x.bin",
      "ollama.com/library/x/y/z",
      "ollama.com/library/x:../y",
      "ollama.com/..",
  };
  for (const std::string& text : cases) {
    const auto name = parse_source(text);
    ASSERT_FALSE(name) << text;
    EXPECT_EQ(name.error().code, errc::bad_name) << text;
    for (const char c : name.error().message) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << text;
    EXPECT_LT(name.error().message.size(), 700u);
  }
}

TEST(SourceNames, PathsOfServersStayInside) {
  for (const char* good : {"a.gguf", "a/b/c.gguf", "…/ü.gguf", "a..b", ".gitattributes"})
    EXPECT_TRUE(is_safe_path(good)) << good;
  for (const char* bad : {"", "/a", "a/", "a//b", "..", "a/..", "a/../b", ".", "a/./b", "a\\b", "a\nb", "\xc3"})
    EXPECT_FALSE(is_safe_path(bad)) << bad;
  EXPECT_FALSE(is_safe_path(std::string(256, 'a')));
  EXPECT_TRUE(is_safe_oid(std::string(40, '0')));
  EXPECT_TRUE(is_safe_oid(std::string(64, 'f')));
  EXPECT_FALSE(is_safe_oid(std::string(64, 'F')));
  EXPECT_FALSE(is_safe_oid("../../../../../../../../../../../etc/ab"));
  EXPECT_EQ(escape_path("a b/ü#.gguf"), "a%20b/%C3%BC%23.gguf");
}

}  // namespace
}  // namespace corral::downloads
