#include "base/service_notifier.h"

#include <filesystem>
#include <map>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/service_manager_for_tests.h"

namespace corral {
namespace {

ServiceNotifier notifier(std::map<std::string, std::string, std::less<>> variables) {
  return ServiceNotifier([variables = std::move(variables)](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string unique_name() { return "corral-notify-" + std::to_string(::getpid()); }

void expect_all_messages(const std::string& name) {
  const FakeServiceManager manager(name);
  const auto to_manager = notifier({{"NOTIFY_SOCKET", name}});
  EXPECT_TRUE(to_manager.active());
  EXPECT_TRUE(to_manager.ready());
  EXPECT_EQ(manager.received(), "READY=1");
  to_manager.status("two\nlines");
  EXPECT_EQ(manager.received(), "STATUS=two lines");
  to_manager.alive();
  EXPECT_EQ(manager.received(), "WATCHDOG=1");
  to_manager.extend_timeout(Millis(1'500));
  EXPECT_EQ(manager.received(), "EXTEND_TIMEOUT_USEC=1500000");
  to_manager.stopping(Millis(20'000));
  EXPECT_EQ(manager.received(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=20000000");
  EXPECT_EQ(manager.received(), "");
}

TEST(ServiceNotifier, SendsToASocketWithAPath) {
  expect_all_messages((std::filesystem::temp_directory_path() / unique_name()).native());
}

TEST(ServiceNotifier, SendsToAnAbstractSocket) { expect_all_messages("@" + unique_name()); }

TEST(ServiceNotifier, DoesNothingWithoutAUsableSocket) {
  for (const std::string& name :
       {std::string(), std::string("@"), std::string("relative"), "/" + std::string(200, 'x')}) {
    const auto nowhere = notifier({{"NOTIFY_SOCKET", name}, {"WATCHDOG_USEC", "1000000"}});
    EXPECT_FALSE(nowhere.active()) << name;
    EXPECT_EQ(nowhere.watchdog(), std::nullopt) << name;
    EXPECT_FALSE(nowhere.ready());
  }
  EXPECT_FALSE(notifier({}).active());
  EXPECT_FALSE(notifier({{"NOTIFY_SOCKET", "/nonexistent/socket"}}).ready()) << "the manager has ended";
}

TEST(ServiceNotifier, TheWatchdogBelongsToOneProcess) {
  const auto watchdog = [](const std::string& usec, const std::string& pid) {
    return notifier({{"NOTIFY_SOCKET", "@x"}, {"WATCHDOG_USEC", usec}, {"WATCHDOG_PID", pid}}).watchdog();
  };
  const auto own = std::to_string(::getpid());
  EXPECT_EQ(watchdog("30000000", own), Millis(30'000));
  EXPECT_EQ(watchdog("10", own), Millis(1));
  EXPECT_EQ(watchdog("30000000", "1"), std::nullopt);
  for (const char* wrong : {"", "0", "-1", "1s", "99999999999999999999"}) EXPECT_EQ(watchdog(wrong, own), std::nullopt);
  EXPECT_EQ(notifier({{"NOTIFY_SOCKET", "@x"}, {"WATCHDOG_USEC", "2000000"}}).watchdog(), Millis(2'000));
}

}  // namespace
}  // namespace corral
