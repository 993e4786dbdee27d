#include "app/start_problems.h"

#include <gtest/gtest.h>

#include "http/errors.h"

namespace corral::app {
namespace {

constexpr const char* kFile = "/etc/corral/config.toml";

TEST(StartProblems, AnAddressThatCannotBeUsed) {
  const Error used(make_error_code(http::errc::address_in_use), "127.0.0.1:8000 is in use by another process");
  EXPECT_EQ(explain_listen(used, 8000, kFile),
            "127.0.0.1:8000 is in use by another process: end it (ss -ltnp 'sport = :8000' shows it), or set another "
            "port with --port or port in /etc/corral/config.toml");
  const Error refused(make_error_code(http::errc::bad_address), "can't listen on 127.0.0.1:80: Permission denied");
  EXPECT_EQ(explain_listen(refused, 80, kFile),
            "can't listen on 127.0.0.1:80: Permission denied: ports below 1024 need root or CAP_NET_BIND_SERVICE; set "
            "a higher port in /etc/corral/config.toml");
  const Error wrong(make_error_code(http::errc::bad_address), "can't listen on 10.0.0.9:8000: no such address");
  EXPECT_EQ(explain_listen(wrong, 8000, kFile),
            "can't listen on 10.0.0.9:8000: no such address: set host and port in /etc/corral/config.toml to an "
            "address of this machine");
}

TEST(StartProblems, AStateFolderThatCannotBeUsed) {
  const auto explained = [](std::errc code) {
    const std::error_code cause(static_cast<int>(code), std::system_category());
    return explain_state_dir({cause, "folder '/s t' can't be made"}, "/s t", "corral");
  };
  EXPECT_EQ(explained(std::errc::no_space_on_device),
            "state_dir: folder '/s t' can't be made: free some space (df -h '/s t'), or set state_dir to a folder on "
            "another disk");
  EXPECT_EQ(explained(std::errc::read_only_file_system),
            "state_dir: folder '/s t' can't be made: set state_dir to a folder that user 'corral' can write");
  EXPECT_EQ(
      explained(std::errc::permission_denied),
      "state_dir: folder '/s t' can't be made: run sudo install -d -o corral -m 750 '/s t', or set state_dir to a "
      "folder of user 'corral'");
  EXPECT_EQ(explained(std::errc::io_error), "state_dir: folder '/s t' can't be made");
  const Error unsafe(std::make_error_code(std::errc::permission_denied), "folder '/s t' is open; run chmod o-w on it");
  EXPECT_EQ(explain_state_dir(unsafe, "/s t", "corral"), "state_dir: folder '/s t' is open; run chmod o-w on it");
}

TEST(StartProblems, AFullDisk) {
  EXPECT_EQ(explain_free_space(64ull << 20, "/var/lib/corral"), std::nullopt);
  EXPECT_EQ(explain_free_space(1ull << 20, "/var/lib/corral"),
            "the disk of state_dir '/var/lib/corral' is full (1.0 MiB free), so settings, keys and logs may be lost: "
            "free some space (df -h /var/lib/corral), or set state_dir to a folder on another disk");
}

}  // namespace
}  // namespace corral::app
