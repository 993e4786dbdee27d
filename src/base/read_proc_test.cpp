#include "base/read_proc.h"

#include <cstdlib>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace corral {
namespace {

using testing::StartsWith;

TEST(ReadProc, AProcessThatEndsMeanwhileHasNoText) {
  const auto child = ::fork();
  if (child == 0) {
    ::pause();
    std::_Exit(0);
  }
  const auto path = "/proc/" + std::to_string(child) + "/stat";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file);
  EXPECT_THAT(read_proc(file.get(), 4096), StartsWith(std::to_string(child) + " ("));
  EXPECT_EQ(read_proc(file.get(), 3), std::to_string(child).substr(0, 3));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(read_proc(file.get(), 4096), "");
  EXPECT_EQ(read_proc(path), "");
}

TEST(ReadProc, AFolderHasNoText) { EXPECT_EQ(read_proc("/proc"), ""); }

}  // namespace
}  // namespace corral
