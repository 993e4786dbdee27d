// For the tests of parked KV: a folder of one's own, entries whose bytes follow from their tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/kv/parked_file.h"
#include "engine/kv/parked_store.h"
#include "engine/test_held_chores.h"

namespace corral::engine::test {

// Bytes that no other token list has.
inline std::vector<std::uint8_t> bytes_of(std::span<const Token> tokens, std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  std::uint64_t state = tokens.size();
  for (const Token token : tokens) state = state * 31 + static_cast<std::uint64_t>(token);
  for (std::uint8_t& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::uint8_t>(state >> 56);
  }
  return bytes;
}

inline Parked parked(std::vector<Token> tokens, std::size_t size = 100) {
  std::vector<std::uint8_t> bytes = bytes_of(tokens, size);
  return {.tokens = std::move(tokens), .bytes = std::move(bytes)};
}

// What is found when all files that are wanted for it have been read.
inline std::optional<ParkedStore::Hit> best(ParkedStore& store, HeldExecutor& disk, std::span<const Token> wanted,
                                            std::uint32_t least) {
  for (;;) {
    auto found = store.find(wanted, least);
    if (!found.coming) return std::move(found.hit);
    disk.work();
  }
}

class ParkFolderTest : public ::testing::Test {
 protected:
  ParkFolderTest()
      : folder_(std::filesystem::path(::testing::TempDir()) /
                ("corral-park-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + "-" +
                 std::to_string(::getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directory(folder_);
  }
  ~ParkFolderTest() override { std::filesystem::remove_all(folder_); }

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) paths.push_back(entry.path());
    return paths;
  }

  static void flip(const std::filesystem::path& file, std::uint64_t offset) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(offset));
    const auto byte = static_cast<char>(stream.get() ^ 0x10);
    stream.seekp(static_cast<std::streamoff>(offset));
    stream.put(byte);
    ASSERT_TRUE(stream.flush());
  }

  // As if it had been used last so long ago.
  static void age(const std::filesystem::path& file, std::chrono::hours hours) {
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() - hours);
  }

  const std::filesystem::path folder_;
};

}  // namespace corral::engine::test
