#include "models/hash/kept_hashes.h"

#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/hash/digest.h"

namespace corral::models {
namespace {

std::string row(std::string_view fields) {
  return fmt::format(R"({{"files":[{{{},"sha256":"{}"}}]}})", fields, std::string(64, 'a'));
}

TEST(KeptHashes, ComeBackAsTheyWere) {
  constexpr std::uint64_t kAllBits = std::numeric_limits<std::uint64_t>::max();
  KeptHashes hashes;
  hashes["/a \"b\""] = {{.device = 0, .inode = 1, .size = 2, .modified = -3}, {4}};
  hashes["/c"] = {{.device = 0, .inode = kAllBits, .size = kAllBits, .modified = 0}, {5}};
  hashes["/d"] = {{.device = 0, .inode = 2, .size = kStepBytes + 1, .modified = 0}, {6}, {{7}, {6}}};
  const auto read = parse_kept_hashes(to_text(hashes));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 3u);
  EXPECT_EQ(read->at("/d").steps, hashes["/d"].steps);
  for (const auto& [path, kept] : hashes) {
    EXPECT_EQ(read->at(path).stamp, kept.stamp);
    EXPECT_EQ(read->at(path).hash, kept.hash);
  }
}

// The hash counts, and the steps are read again when somebody wants them.
TEST(KeptHashes, StepsThatDontLeadToTheHashAreLeftOut) {
  const std::string a(64, 'a'), b(64, 'b'), fields = R"("path":"/a","size":16777217,"inode":1,"mtime_ns":1,"steps":)";
  EXPECT_EQ(parse_kept_hashes(row(fields + '"' + b + a + '"'))->at("/a").steps.size(), 2u);
  for (const auto& steps : {'"' + a + b + '"', '"' + a + '"', '"' + b + b + a + '"', '"' + b + a + "a\"",
                            '"' + std::string(64, 'x') + a + '"', std::string("7"), std::string("[]")}) {
    const auto read = parse_kept_hashes(row(fields + steps));
    ASSERT_EQ(read->size(), 1u) << steps;
    EXPECT_TRUE(read->at("/a").steps.empty()) << steps;
  }
}

// They came back as another path: the file was hashed again at each start.
TEST(KeptHashes, PathsMayBeAnyBytes) {
  KeptHashes hashes;
  hashes["/m\xe4rz.gguf"] = hashes["/\xff\xfe"] = {{}, {7}};
  const auto read = parse_kept_hashes(to_text(hashes));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_TRUE(read->contains("/m\xe4rz.gguf"));
  EXPECT_TRUE(read->contains("/\xff\xfe"));
}

// A number that doesn't fit threw, and each start ended there.
TEST(KeptHashes, RowsThatMakeNoSenseAreLeftOut) {
  ASSERT_TRUE(parse_kept_hashes(row(R"("path":"/a","size":1,"inode":1,"mtime_ns":1)")));
  EXPECT_EQ(parse_kept_hashes(row(R"("path":"/a","size":1,"inode":18446744073709551615,"mtime_ns":1)"))->size(), 1u);
  for (const char* fields :
       {R"("path":"/a","size":1,"inode":1,"mtime_ns":18446744073709551615)",
        R"("path":"/a","size":-1,"inode":1,"mtime_ns":1)", R"("path":"/a","size":1e300,"inode":1,"mtime_ns":1)",
        R"("path":"/a","size":1.5,"inode":1,"mtime_ns":1)", R"("path":"/a","size":1,"mtime_ns":1)",
        R"("path":"","size":1,"inode":1,"mtime_ns":1)", R"("path":7,"size":1,"inode":1,"mtime_ns":1)",
        R"("path_hex":"6","size":1,"inode":1,"mtime_ns":1)", R"("path_hex":"6x","size":1,"inode":1,"mtime_ns":1)",
        R"("path_hex":"-1","size":1,"inode":1,"mtime_ns":1)"}) {
    const auto read = parse_kept_hashes(row(fields));
    ASSERT_TRUE(read) << fields;
    EXPECT_TRUE(read->empty()) << fields;
  }
  EXPECT_TRUE(parse_kept_hashes(R"({"files":[1,null,"x",[],{}]})")->empty());
}

TEST(KeptHashes, WhereThereIsNoRoomThoseThatAreGoneAreForgotten) {
  KeptHashes hashes;
  std::set<std::filesystem::path> wanted;
  for (unsigned i = 0; i < 16'384; ++i) {
    const auto path = fmt::format("/{:05}", i);
    hashes[path] = {{}, {1}};
    if (i != 0 && i != 7) wanted.insert(path);
  }
  make_room(hashes, wanted);
  EXPECT_EQ(hashes.size(), 16'384u);  // there is room
  hashes["/new"] = {{}, {2}};
  wanted.insert("/new");
  make_room(hashes, wanted);
  const auto read = parse_kept_hashes(to_text(hashes));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->size(), 16'384u);
  EXPECT_TRUE(read->contains("/new"));
  EXPECT_FALSE(read->contains("/00000"));
  EXPECT_TRUE(read->contains("/00007"));
}

TEST(KeptHashes, ATextThatIsNoneIsTold) {
  for (const char* text : {"", "{nonsense", "[]", "{}", R"({"files":{}})", R"({"files":1e999})"})
    EXPECT_FALSE(parse_kept_hashes(text)) << text;
}

}  // namespace
}  // namespace corral::models
