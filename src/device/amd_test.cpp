// AMD GPUs, through a made-up /sys.
#include "device/amd.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "base/unique_fd.h"
#include "device/driver_source.h"
#include "device/files_for_tests.h"
#include "device/memory_monitor.h"

namespace corral::device {
namespace {

class AmdTest : public FilesForTests {
 protected:
  // "amdgpu0:available/total", with the names of the pools as they are.
  std::string reported() const {
    const auto pools = AmdProbe({root_}).read();
    std::string text;
    for (const auto& pool : pools.value_or(MemoryPools{}))
      text += fmt::format("{}{}:{}/{}", text.empty() ? "" : " ", pool.id, pool.available, pool.total);
    return pools ? text : pools.error().message;
  }
  void write_card(int number, const std::map<std::string, std::string>& files) const {
    for (const auto& [name, text] : files) write(fmt::format("sys/class/drm/card{}/device/{}", number, name), text);
  }
};

TEST_F(AmdTest, TellsMemoryOfEachCard) {
  const std::string drm = "sys/class/drm/";
  write(drm + "version", "drm 1.1.0 20060810\n");
  write(drm + "renderD128/device/vendor", "0x1002\n");
  write(drm + "card0/device/vendor", "0x10de\n");
  write(drm + "card0-DP-1/device/vendor", "0x1002\n");
  write(drm + "card10/device/vendor", "0x1002\n");
  write(drm + "card10/device/device", "0x744c\n");
  write(drm + "card10/device/uevent", "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:744C\nPCI_SLOT_NAME=0000:03:00.0\n");
  write(drm + "card10/device/mem_info_vram_total", "25753026560\n");
  write(drm + "card10/device/mem_info_vram_used", "27119616\n");
  write(drm + "card2/device/vendor", "0x1002\n");
  write(drm + "card2/device/product_name", "AMD Radeon Graphics\n");
  write(drm + "card2/device/mem_info_vram_total", "536870912\n");
  write(drm + "card2/device/mem_info_vram_used", "600000000\n");
  write(drm + "card2/device/mem_info_gtt_total", "16106127360\n");
  write(drm + "card2/device/mem_info_gtt_used", "20000000\n");
  const auto pools = AmdProbe({root_}).read();
  ASSERT_TRUE(pools) << pools.error().message;
  EXPECT_EQ(*pools, (MemoryPools{
                        {"amdgpu0", "AMD Radeon Graphics", PoolKind::gpu, 536870912, 0},
                        {"amdgpu0-gtt", "AMD Radeon Graphics", PoolKind::shared, 16106127360, 16086127360},
                        {"amdgpu1", "AMD GPU 0x744c", PoolKind::gpu, 25753026560, 25725906944, "0000:03:00.0"},
                    }));
}

TEST_F(AmdTest, AbsentAndSilentCards) {
  EXPECT_EQ(AmdProbe({root_}).read().error().code, errc::absent);
  write("sys/class/drm/card0/device/vendor", "0x8086\n");
  EXPECT_EQ(AmdProbe({root_}).read().error().code, errc::absent);
  write("sys/class/drm/card1/device/vendor", "0x1002\n");
  EXPECT_EQ(AmdProbe({root_}).read().error().code, errc::absent) << "the driver radeon, or an old kernel";
  write("sys/class/drm/card1/device/mem_info_vram_total", "N/A\n");
  write("sys/class/drm/card1/device/mem_info_vram_used", "1\n");
  EXPECT_EQ(AmdProbe({root_}).read().error().code, errc::malformed);
}

// What is in the folders of real cards.
TEST_F(AmdTest, AnswersOfRealDrivers) {
  struct Case {
    const char* card;
    std::map<std::string, std::string> files;
    const char* reported;
  };
  const std::string vendor = "0x1002\n";
  const std::vector<Case> cases = {
      {"Radeon RX 6700 XT",
       {{"vendor", vendor},
        {"device", "0x73df\n"},
        {"uevent", "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:73DF\nPCI_SLOT_NAME=0000:07:00.0\n"},
        {"mem_info_vram_total", "12868124672\n"},
        {"mem_info_vram_used", "1091891200\n"}},
       "amdgpu0:11776233472/12868124672"},
      {"Radeon RX 570, whose driver gives the size of the one memory for the other too",
       {{"vendor", vendor},
        {"mem_info_vram_total", "4294967296\n"},
        {"mem_info_vram_used", "12288\n"},
        {"mem_info_gtt_total", "4294967296\n"},
        {"mem_info_gtt_used", "1051754496\n"}},
       "amdgpu0:4294955008/4294967296 amdgpu0-gtt:3243212800/4294967296"},
      {"Radeon 8060S, a part of the RAM set aside and most of the rest lent",
       {{"vendor", vendor},
        {"device", "0x1586\n"},
        {"mem_info_vram_total", "2147483648\n"},
        {"mem_info_vram_used", "154243072\n"},
        {"mem_info_vis_vram_total", "2147483648\n"},
        {"mem_info_vis_vram_used", "154243072\n"},
        {"mem_info_gtt_total", "111669149696\n"},
        {"mem_info_gtt_used", "20000000\n"}},
       "amdgpu0:1993240576/2147483648 amdgpu0-gtt:111649149696/111669149696"},
      {"FirePro W7000 with the older driver",
       {{"vendor", vendor}, {"uevent", "DRIVER=radeon\nPCI_CLASS=30000\n"}},
       "no AMD GPU whose driver reports its memory"},
      {"a part of an MI300X that was divided: no vendor, no memory of its own",
       {{"uevent", "DRIVER=amdgpu_xcp\n"}},
       "no AMD GPU whose driver reports its memory"},
      {"cut off",
       {{"vendor", vendor}, {"mem_info_vram_total", ""}, {"mem_info_vram_used", ""}},
       "can't read the memory of any AMD GPU"},
      {"not a number",
       {{"vendor", vendor}, {"mem_info_vram_total", "-22\n"}, {"mem_info_vram_used", "0x10\n"}},
       "can't read the memory of any AMD GPU"},
      {"no more than a number",
       {{"vendor", vendor}, {"mem_info_vram_total", "16 GB\n"}, {"mem_info_vram_used", "1\n"}},
       "can't read the memory of any AMD GPU"},
      {"only half of it there",
       {{"vendor", vendor}, {"mem_info_vram_total", "17163091968\n"}},
       "can't read the memory of any AMD GPU"},
  };
  for (const auto& now : cases) {
    std::filesystem::remove_all(root_);
    write_card(1, now.files);
    EXPECT_EQ(reported(), now.reported) << now.card;
    write_card(7, {{"vendor", vendor}, {"mem_info_vram_total", "17163091968\n"}, {"mem_info_vram_used", "0\n"}});
    EXPECT_TRUE(reported().contains("17163091968/17163091968")) << "another card beside: " << now.card;
  }
}

// A file that is there and whose reading fails.
TEST_F(AmdTest, CardWhoseFilesCannotBeRead) {
  write_card(0, {{"vendor", "0x1002\n"}, {"mem_info_vram_total", "8589934592\n"}});
  std::filesystem::create_directories(root_ / "sys/class/drm/card0/device/mem_info_vram_used");
  EXPECT_EQ(reported(), "can't read the memory of any AMD GPU");
}

// A driver that never answers: reading blocks, as in a deadlock of the kernel's.
class AmdHangTest : public AmdTest {
 protected:
  AmdHangTest() {
    write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 6291456 kB\n");
    write_card(0, {{"vendor", "0x1002\n"}, {"device", "0x744c\n"}, {"mem_info_vram_total", "8589934592\n"}});
    EXPECT_EQ(::mkfifo(fifo_.c_str(), 0600), 0);
    PoolSources sources;
    sources.push_back(std::make_unique<DriverSource>(loop_.executor(), timers_, "AMD",
                                                     std::make_unique<AmdProbe>(AmdOptions{root_}), Millis(10'000)));
    monitor_.emplace(loop_.executor(), timers_, MemoryMonitorOptions{.ram = {.root = root_}}, std::move(sources));
  }
  ~AmdHangTest() override {
    answer();
    async::run_blocking(loop_, monitor_->stop());
  }

  // The reader gets its number; waits for it to be there.
  void answer() {
    if (answered_) return;
    answered_ = true;
    const UniqueFd writer(::open(fifo_.c_str(), O_WRONLY));
    EXPECT_EQ(::write(writer.get(), "1073741824\n", 11), 11);
    std::filesystem::remove(fifo_);
    write_card(0, {{"mem_info_vram_used", "1073741824\n"}});
  }
  // What a sample shows that waits as long as it will.
  std::string sampled(Millis wait) {
    std::string text;
    auto sample = [&]() -> async::Task<void> {
      for (const auto& pool : co_await monitor_->sample()) text += (text.empty() ? "" : " ") + pool.id;
    };
    async::TaskGroup group(loop_.executor());
    group.spawn("sample", sample());
    settle();
    timers_.advance(wait);
    settle();
    return text;
  }
  void settle() {
    loop_.context().restart();
    loop_.context().poll();
  }

  const std::filesystem::path fifo_ = root_ / "sys/class/drm/card0/device/mem_info_vram_used";
  bool answered_ = false;
  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  std::optional<MemoryMonitor> monitor_;
};

TEST_F(AmdHangTest, HoldsNobodyUpAndIsAskedAgainWhenItIsBack) {
  EXPECT_EQ(sampled(Millis(250)), "ram") << "after the monitor's patience";
  EXPECT_EQ(sampled(Millis(250)), "ram") << "the question is still open";
  EXPECT_EQ(sampled(Millis(10'000)), "ram") << "late: left out, asked again after a pause";
  EXPECT_EQ(sampled(Millis(1'000)), "ram");
  answer();
  auto until_back = [&]() -> async::Task<MemoryPools> {
    for (;;) {
      auto pools = co_await monitor_->sample();
      if (pools.size() > 1) co_return pools;
      timers_.advance(Millis(300'000));
      co_await async::asio::post(async::use_task);
    }
  };
  const auto pools = async::run_blocking(loop_, until_back());
  EXPECT_EQ(pools.back(), (MemoryPool{"amdgpu0", "AMD GPU 0x744c", PoolKind::gpu, 8589934592, 7516192768}));
}

}  // namespace
}  // namespace corral::device
