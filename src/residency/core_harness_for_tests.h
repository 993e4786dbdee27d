// For unit tests of the core: drives it by hand. Events take model names, actions read as text.
//
//   CoreHarness house;
//   EXPECT_THAT(house.acquire("a"), ElementsAre("start a"));
//   EXPECT_THAT(house.succeed("a"), ElementsAre("grant 1 on a"));     // tickets count from 1
#pragma once

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "residency/core.h"

namespace corral::residency {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CoreHarness {
 public:
  using Lines = std::vector<std::string>;

  explicit CoreHarness(Settings settings = {}, std::set<ModelName> pins = {}) : core_(std::move(settings), pins) {}
  static Settings slots(std::int32_t count) { return {.limits = Limits::of_all(count)}; }

  // Models are llms on the GPU by default; change them before their first use.
  ModelSpec& model(const std::string& name) {
    specs_[name].name = ModelName(name);
    return specs_[name];
  }
  void model(const std::string& name, ModelType type) { model(name).type = type; }
  void npu(const std::string& name, const std::string& recipe, NpuPolicy policy, ModelType type) {
    ModelSpec& spec = model(name);
    spec.recipe = recipe;
    spec.npu = policy;
    spec.type = type;
    spec.device = Device::npu;
  }

  // Its memory need on "gpu0", and the part of it that a downsize frees.
  ModelSpec& needs(const std::string& name, std::uint64_t total, std::uint64_t dynamic = 0) {
    ModelSpec& spec = model(name);
    spec.memory = {{PoolId("gpu0"), total, dynamic}};
    return spec;
  }

  Lines acquire(const std::string& name) { return send(Acquire{ticket(), spec(name)}); }
  Lines load(const std::string& name, std::uint64_t options = 0, std::optional<bool> pin = {}) {
    ModelSpec wanted = *spec(name);
    wanted.options = options;
    return send(Load{ticket(), std::make_shared<const ModelSpec>(wanted), pin});
  }
  Lines unload(const std::string& name) { return send(Unload{ticket(), ModelName(name)}); }
  Lines end(const std::string& name) { return send(EndInstance{ticket(), child(name)}); }
  Lines unload_all() { return send(UnloadAll{ticket()}); }
  Lines pin(const std::string& name, bool pinned = true) { return send(Pin{ticket(), ModelName(name), pinned}); }
  Lines cancel(std::uint64_t number) { return send(CancelTicket{TicketId(number)}); }
  Lines finish(std::uint64_t number) { return send(ReturnLease{leases_.at(number)}); }
  Lines simulate(double pct) { return send(SimulatePressure{ticket(), pct}); }
  Lines evictable(const std::string& name, EvictionSettings eviction) {
    return send(ChangeEviction{ModelName(name), eviction});
  }
  Lines settings(Settings settings) { return send(ChangeSettings{std::move(settings)}); }
  Lines shutdown() { return send(Shutdown{}); }

  Lines succeed(const std::string& name) { return send(LoadSucceeded{child(name)}); }
  Lines fail(const std::string& name, LoadFault fault = LoadFault::other) {
    return send(LoadFailed{child(name), fault, Error(std::make_error_code(std::errc::io_error), "it broke")});
  }
  struct Worked {
    bool worked = true, answered = false;
  };
  Lines died(const std::string& name, Worked how = {true, false}) {
    return send(InstanceDied{child(name), "killed by signal 11", how.worked, how.answered});
  }
  // Answers to "check": its files exist and this is its need; or they don't.
  Lines checked(const std::string& name) {
    const CheckLoad asked = checks_.at(name);
    ModelSpec found = *asked.spec;
    found.memory = model(name).memory;
    return send(LoadChecked{asked.instance, asked.check, std::make_shared<const ModelSpec>(found)});
  }
  Lines missing(const std::string& name) {
    const CheckLoad asked = checks_.at(name);
    return send(CheckFailed{asked.instance, asked.check,
                            Error(std::make_error_code(std::errc::no_such_file_or_directory), "gone")});
  }
  Lines stopped(const std::string& name, bool answered = false) { return send(InstanceStopped{child(name), answered}); }
  Lines downsized(const std::string& name) { return send(Downsized{child(name)}); }
  Lines not_downsized(const std::string& name) { return send(DownsizeFailed{child(name)}); }
  // Sets the free memory of "gpu0", of 100.
  Lines free(std::uint64_t available) { return send(MemorySampled{{{PoolId("gpu0"), 100, available}}}); }
  // Time passes; sends Tick if the core requested one.
  Lines pass(Millis time) {
    now_.mono += time;
    now_.wall += time;
    const bool due = wake_ && *wake_ <= now_.mono;
    return due ? send(Tick{}) : Lines{};
  }

  // Several steps at once: loaded, and idle or with one running request, whose number is returned.
  void have_idle(const std::string& name) { finish(have_busy(name)); }
  std::uint64_t have_busy(const std::string& name) {
    acquire(name);
    const std::uint64_t number = last_ticket_;
    succeed(name);
    pass(Millis{1});
    return number;
  }

  std::uint64_t last_ticket() const { return last_ticket_; }
  const Error& error(std::uint64_t number) const { return errors_.at(number); }
  InstanceState state(const std::string& name) const {
    const Model* found = core_.state().find(ModelName(name));
    if (found == nullptr) return InstanceState::gone;
    return found->current ? found->current->state : found->pending ? InstanceState::queued : InstanceState::gone;
  }
  Snapshot snapshot() const { return core_.snapshot(now_); }
  std::optional<Millis> wake_in() const {
    if (!wake_) return std::nullopt;
    return std::chrono::duration_cast<Millis>(*wake_ - now_.mono);
  }
  bool shows_watch = true;
  Core& core() { return core_; }
  Now now() const { return now_; }

  Lines send(const Event& event) {
    ActionList actions;
    core_.handle(event, now_, actions);
    Lines lines;
    for (const Action& action : actions) {
      std::string line = std::visit([this](const auto& a) { return this->text(a); }, action);
      if (!line.empty()) lines.push_back(std::move(line));
    }
    return lines;
  }
  TicketId ticket() { return TicketId(++last_ticket_); }
  SpecPtr spec(const std::string& name) { return std::make_shared<const ModelSpec>(model(name)); }

 private:
  // The newest instance of this model.
  InstanceId child(const std::string& name) const { return children_.at(name); }
  std::string name_of_child(InstanceId id) const { return names_.at(id); }
  static std::string join(const std::vector<ModelName>& names) {
    std::vector<std::string> texts;
    for (const ModelName& name : names) texts.push_back(name.value());
    return fmt::format("{}", fmt::join(texts, ","));
  }

  std::string text(const CheckLoad& a) {
    const std::string& name = a.spec->name.value();
    checks_.insert_or_assign(name, a);
    names_[a.instance] = name;
    return "check " + name;
  }
  std::string text(const DropCheck& a) const { return "no check of " + name_of_child(a.instance); }
  std::string text(const StartLoad& a) {
    const std::string& name = a.spec->name.value();
    children_[name] = a.instance;
    names_[a.instance] = name;
    return a.attempt == 1 ? "start " + name : "start again " + name;
  }
  std::string text(const AbortLoad& a) const {
    return fmt::format("abort {}: {}", name_of_child(a.instance), name_of(a.reason));
  }
  std::string text(const StopInstance& a) const {
    return fmt::format("stop {}: {}", name_of_child(a.instance), name_of(a.reason));
  }
  std::string text(const Recall& a) const { return "recall " + name_of_child(a.instance); }
  std::string text(const Downsize& a) const { return "downsize " + name_of_child(a.instance); }
  static std::string text(const SampleMemory&) { return "sample"; }
  std::string text(const WatchMemory& a) const { return !shows_watch ? "" : a.on ? "watch" : "watch no more"; }
  std::string text(const Granted& a) {
    leases_[a.ticket.value()] = a.lease;
    return fmt::format("grant {} on {}", a.ticket.value(), name_of_child(a.instance));
  }
  std::string text(const Loaded& a) const {
    return fmt::format("{} {} {}", a.was_resident ? "resident" : "loaded", a.ticket.value(), name_of_child(a.instance));
  }
  static std::string text(const Unloaded& a) {
    return fmt::format("unloaded {}: {}{}", a.ticket.value(), join(a.unloaded),
                       a.draining.empty() ? "" : " draining " + join(a.draining));
  }
  static std::string text(const Relieved& a) {
    return fmt::format("relieved {}: downsized {} evicted {}", a.ticket.value(), join(a.downsized), join(a.evicted));
  }
  static std::string text(const PinChanged& a) {
    return fmt::format("{} {}", a.pinned ? "pin" : "unpin", a.model.value());
  }
  std::string text(const Rejected& a) {
    errors_.emplace(a.ticket.value(), a.error);
    return fmt::format("reject {}: {}", a.ticket.value(), a.error.code.message());
  }
  std::string text(const WakeAt& a) {
    wake_ = a.time;
    return "";
  }

  Core core_;
  Now now_{MonoTime{} + std::chrono::hours(1), WallTime{} + std::chrono::hours(24 * 365 * 50)};
  std::map<std::string, ModelSpec> specs_;
  std::map<std::string, InstanceId> children_;
  std::map<InstanceId, std::string> names_;
  std::map<std::string, CheckLoad> checks_;  // the last one of each
  std::map<std::uint64_t, LeaseId> leases_;
  std::map<std::uint64_t, Error> errors_;
  std::optional<MonoTime> wake_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace corral::residency
