#include "models/hash/verifier.h"

#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/secret.h"
#include "models/hash/content_hash.h"
#include "models/temp_dir_for_tests.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;

class VerifierTest : public testing::Test {
 protected:
  VerifierTest() { log::set_level(log::Level::none); }

  fs::path write(const fs::path& name, std::string_view text) const {
    fs::create_directories((dir / name).parent_path());
    std::ofstream(dir / name, std::ios::binary) << text;
    return dir / name;
  }
  // As a disk that loses bits: nobody has written to it.
  static void rot(const fs::path& file, std::string_view text) {
    const auto then = fs::last_write_time(file);
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary) << text;
    fs::last_write_time(file, then);
  }
  FileCheck check(const fs::path& file) {
    Verifier verifier(record(), hash_file);
    const auto done = verifier.check(file, [] { return true; });
    EXPECT_TRUE(verifier.save());
    return done.value();
  }
  fs::path record() const { return dir / "seen.json"; }

  const TempDir dir;
};

TEST_F(VerifierTest, the_first_look_learns_what_the_next_one_compares_with) {
  const auto file = write("m.gguf", "some weights");
  EXPECT_EQ(check(file).verdict, Verdict::first_look);
  const auto again = check(file);
  EXPECT_EQ(again.verdict, Verdict::right);
  EXPECT_EQ(again.hash, digest_of("some weights"));
  EXPECT_EQ(again.bytes, 12u);
}

TEST_F(VerifierTest, other_bytes_under_the_same_stamp_are_damage_and_stay_so) {
  const auto file = write("m.gguf", "some weights");
  check(file);
  rot(file, "sOme");
  for (int look = 0; look < 2; ++look) {
    const auto damaged = check(file);
    EXPECT_EQ(damaged.verdict, Verdict::damaged);
    EXPECT_EQ(damaged.expected, digest_of("some weights"));
    EXPECT_EQ(damaged.hash, digest_of("sOme weights"));
  }
  rot(file, "some");
  EXPECT_EQ(check(file).verdict, Verdict::right);
}

TEST_F(VerifierTest, a_file_that_was_written_to_has_changed_once_and_counts_from_then_on) {
  const auto file = write("m.gguf", "some weights");
  check(file);
  fs::remove(file);
  write("m.gguf", "other weights");
  EXPECT_EQ(check(file).verdict, Verdict::changed);
  EXPECT_EQ(check(file).verdict, Verdict::right);
}

TEST_F(VerifierTest, a_blob_is_held_to_its_name_whenever_it_was_written) {
  const std::string name = to_hex(digest_of("weights"));
  const auto blob = write("hub/blobs/" + name, "weights");
  fs::create_directories(dir / "hub/snapshots");
  fs::create_symlink(blob, dir / "hub/snapshots/m.gguf");
  EXPECT_EQ(check(dir / "hub/snapshots/m.gguf").verdict, Verdict::right);
  write("hub/blobs/" + name, "weighty");
  EXPECT_EQ(check(dir / "hub/snapshots/m.gguf").verdict, Verdict::damaged);
  EXPECT_EQ(check(write("ollama/sha256-" + name, "weights")).verdict, Verdict::right);
  EXPECT_EQ(check(write("ollama/sha256-" + name, "nothing")).verdict, Verdict::damaged);
  EXPECT_FALSE(promised_hash(write("m.gguf", "x")));
}

TEST_F(VerifierTest, a_file_from_an_address_isnt_held_to_the_hash_of_its_address) {
  const std::string name = to_hex(digest_of("https://example.com/m.gguf")).substr(0, 40);
  const auto blob = write("host/blobs/" + name, "weights");
  const auto link = dir / "host/snapshots" / name / "m.gguf";
  fs::create_directories(link.parent_path());
  fs::create_symlink(blob, link);
  EXPECT_EQ(check(link).verdict, Verdict::first_look);
  EXPECT_EQ(check(link).verdict, Verdict::right);
  rot(blob, "Weights");
  EXPECT_EQ(check(link).verdict, Verdict::damaged);
}

TEST_F(VerifierTest, what_is_written_to_meanwhile_and_what_cant_be_read_is_neither_right_nor_wrong) {
  const auto file = write("m.gguf", "some weights");
  Verifier verifier(record(), [](const fs::path& path, const auto& go_on) {
    auto hash = hash_file(path, go_on);
    std::ofstream(path, std::ios::app) << "more";
    return hash;
  });
  EXPECT_EQ(verifier.check(file, [] { return true; })->verdict, Verdict::unsettled);
  const auto gone = verifier.check(dir / "none.gguf", [] { return true; });
  EXPECT_EQ(gone->verdict, Verdict::unreadable);
  EXPECT_THAT(gone->cause, testing::HasSubstr("No such file"));
  EXPECT_FALSE(verifier.check(file, [] { return false; }));
}

TEST_F(VerifierTest, a_broken_record_is_put_aside) {
  const auto file = write("m.gguf", "some weights");
  write("seen.json", "what?");
  EXPECT_EQ(check(file).verdict, Verdict::first_look);
  EXPECT_TRUE(fs::exists(dir / "seen.json.broken"));
}

TEST_F(VerifierTest, quarantine_renames_what_a_name_leads_to_and_removes_links) {
  const auto plain = write("m.gguf", "x");
  EXPECT_EQ(quarantine(plain).value(), fs::path(plain.native() + ".damaged"));
  write("m.gguf", "y");
  EXPECT_EQ(quarantine(plain).value(), fs::path(plain.native() + ".damaged-2"));
  EXPECT_FALSE(fs::exists(plain));

  const auto blob = write("blobs/abc", "z");
  fs::create_symlink(blob, dir / "link.gguf");
  EXPECT_EQ(quarantine(dir / "link.gguf").value(), fs::path(blob.native() + ".damaged"));
  EXPECT_FALSE(fs::is_symlink(dir / "link.gguf"));
  EXPECT_FALSE(fs::exists(blob));
  EXPECT_FALSE(quarantine(plain));
}

}  // namespace
}  // namespace corral::models
