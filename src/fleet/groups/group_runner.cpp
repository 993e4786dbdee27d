#include "fleet/groups/group_runner.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <set>

#include <fmt/format.h>

#include "async/event.h"
#include "base/log.h"
#include "base/state_file.h"
#include "fleet/base/errors.h"
#include "fleet/groups/group_engines.h"
#include "fleet/groups/group_links.h"
#include "fleet/groups/group_memory.h"
#include "fleet/groups/group_messages.h"
#include "fleet/groups/holder_file.h"

namespace corral::fleet {

using async::Task;
using mesh::BootTime;
using mesh::ContentKey;
using mesh::NodeId;
using mesh::PlanTerm;

namespace {

constexpr Millis kForced{10'000};    // at the end, for processes that are being killed
constexpr Millis kLastWords{1'000};  // at the end, for the disk
constexpr Millis kLook{25};

}  // namespace

BootTime boot_now() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return BootTime(
      std::chrono::duration_cast<Millis>(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec)));
}

Result<> write_safely(const std::filesystem::path& file, std::string_view text) {
  return write_state_file(file, text, Durability::power_loss);
}

class GroupRunner::Impl final : private mesh::PeerEvents, public GroupReports {
 public:
  explicit Impl(GroupParts parts)
      : parts_(std::move(parts)),
        own_(parts_.peers.own()),
        links_(parts_.peers),
        file_(parts_.executor, parts_.timers, parts_.disk, parts_.folder, parts_.write),
        former_(file_.read()),
        groups_(core_options(), parts_.now()),
        memory_(parts_, own_, file_, former_, groups_, [this] { settle(); }),
        engines_(parts_, own_,
                 [this](const ContentKey& model, PlanTerm of, std::string why) {
                   engine_over(model, of, EngineEnd::failed, std::move(why));
                 }),
        last_(parts_.now()),
        moved_(parts_.executor),
        tasks_(parts_.executor) {
    parts_.peers.listen(*this);
  }

  void start() {
    update_members();
    tasks_.spawn("mesh: groups", tick());
  }

  bool want(mesh::GroupPlan plan, mesh::PlanCause cause, bool by_hand) {
    if (winding_ || plan.split.host != own_) return false;
    const auto model = plan.model;
    const auto now = enter();
    const bool changes = groups_.want(std::move(plan), cause, now);
    if (changes || by_hand) notes_[model].by_hand = by_hand;
    groups_.tick(now);  // starts what is possible at once
    settle();
    return changes;
  }
  void end(const ContentKey& model) {
    update_core([&](BootTime now) { groups_.end(model, now); });
  }
  void lend(std::uint64_t bytes) {
    memory_.lend(bytes);
    update_core([this](BootTime) { memory_.look(); });
  }

  void take_back() {
    update_core([this](BootTime now) { memory_.take_back(now); });
  }

  void wind_down(Millis within) {
    if (std::exchange(winding_, true)) return;
    wind_until_ = parts_.timers.now() + within;
    update_core([&](BootTime now) {
      std::vector<ContentKey> all;
      for (const auto& [model, host] : groups_.hosted()) all.push_back(model);
      for (const auto& model : all) groups_.end(model, now);
      memory_.wind_down(now);
    });
  }
  Task<void> stop() {
    wind_down(Millis(0));
    auto ending = until_quiet(wind_until_);
    co_await std::move(ending);
    force();
    auto forcing = until_quiet(parts_.timers.now() + kForced);
    co_await std::move(forcing);
    if (!is_quiet()) log::warning("mesh", "parts of a group didn't end in time");
    parts_.peers.forget(*this);
    tasks_.cancel();
    co_await tasks_.join();
    co_await engines_.finish();
    co_await file_.stop();
    for (const auto& name : held_) parts_.processes.hold(name, false);
    held_.clear();
  }

  std::vector<Hosted> hosted() const {
    std::vector<Hosted> all;
    for (const auto& [model, host] : groups_.hosted()) all.push_back(describe(model, host));
    return all;
  }
  std::optional<Shared> shared() const { return memory_.shared(); }
  bool recalled() const { return memory_.recalled(); }
  std::vector<NodeId> lost(const ContentKey& model) const { return groups_.lost(model, parts_.now()); }
  std::vector<NodeId> lost() const { return groups_.lost(parts_.now()); }
  const std::string& problem() const { return memory_.problem(); }
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

  Task<Result<std::string>> worker_for(NodeId host, ContentKey model, PlanTerm of) {
    return memory_.worker_for(host, model, of);
  }

 private:
  // Facts about a hosted model that the core doesn't know.
  struct Note {
    bool by_hand = false;
    std::string engine;  // its last message, if no engine has loaded since
    std::optional<MonoTime> wrong_since;
  };

  // ---- events

  void link_up(const NodeId& peer, const mesh::Hello& hello) override {
    update_core([&](BootTime now) {
      links_.up(peer, now);
      groups_.link_up(peer, hello.claim.boot.epoch, now);
    });
  }
  void link_down(const NodeId& peer, const mesh::Closing& closing) override {
    update_core([&](BootTime now) {
      const auto last_received = links_.down(peer, now);
      groups_.link_down(peer, end_of(closing, now - last_received), last_received, now);
    });
  }
  void frame(const NodeId& peer, const mesh::Frame& frame) override {
    if (frame.kind != mesh::FrameKind::grant) return;
    const auto message = mesh::read_group_message(frame.payload);
    if (!message) return log::debug("mesh", "{}: {}", mesh::short_text(peer), message.error().message);
    if (memory_.refuses(peer, *message)) return;
    update_core([&](BootTime now) {
      links_.received(peer, now);
      groups_.message(peer, *message, now);
    });
  }
  void members_changed() override { update_members(); }
  void epoch_changed(const mesh::Boot& boot) override { groups_.live_anew(boot.epoch); }

  void engine_started(const ContentKey& model, PlanTerm of) override {
    auto* const engine = engines_.find(of);
    if (engine == nullptr) return;
    engine->ready = true;
    engine->progress.reset();
    if (const auto note = notes_.find(model); note != notes_.end()) note->second.engine.clear();
    log::info("mesh", "'{}' is ready as a split: {}", parts_.model_name(model), mesh::in_words(engine->plan.split));
    settle();
  }
  void engine_progress(const ContentKey&, PlanTerm of, double fraction) override {
    auto* const engine = engines_.find(of);
    if (engine == nullptr || engine->ready) return;
    engine->progress = fraction;
    settle();
  }
  void engine_drained(const ContentKey& model, PlanTerm of) override {
    update_core([&](BootTime now) { groups_.engine_drained(model, of, now); });
  }
  void engine_ended(const ContentKey& model, PlanTerm of, EngineEnd how, std::string why) override {
    if (engines_.ended(of)) engine_over(model, of, how, std::move(why));
  }
  void engine_over(const ContentKey& model, PlanTerm of, EngineEnd how, std::string why) {
    if (how != EngineEnd::asked) {
      log::warning("mesh", "the engine of '{}' has ended: {}", parts_.model_name(model), why);
      if (const auto note = notes_.find(model); note != notes_.end()) note->second.engine = std::move(why);
    }
    update_core([&](BootTime now) {
      // After this node gave the engine up, the group must not restart at once.
      if (how == EngineEnd::given_up) groups_.end(model, now);
      groups_.engine_ended(model, of, now);
    });
  }
  void worker_ready(const NodeId& host, PlanTerm of, std::string socket, std::string) override {
    if (memory_.worker_ready(host, of, std::move(socket))) settle();
  }
  void worker_failed(const NodeId& host, PlanTerm of, Error why) override {
    if (memory_.worker_failed(host, of, std::move(why))) settle();
  }
  void worker_reaped(const NodeId& host, PlanTerm of) override {
    (void)enter();
    if (memory_.worker_reaped(host, of)) settle();
  }
  void recalled(const NodeId& host, PlanTerm of) override {
    (void)enter();
    if (memory_.recall(host, of)) settle();
  }

  Task<void> tick() {
    while (true) {
      auto pause = parts_.timers.sleep_for(mesh::kGroupTick);
      co_await std::move(pause);
      update_core([&](BootTime now) {
        links_.look(now);
        groups_.tick(now);
        memory_.look();
      });
    }
  }

  // ---- the core: input, effects

  void update_core(const auto& call) {
    const auto now = enter();
    call(now);
    settle();
  }
  // After a pause of the process, expired times are handled first.
  BootTime enter() {
    const auto now = parts_.now();
    if (now - last_ >= 2 * mesh::kGroupTick) groups_.tick(now);
    last_ = now;
    return now;
  }
  void settle() {
    // Callbacks may call again; the outer call handles the resulting effects.
    if (std::exchange(settling_, true)) return;
    while (true) {
      auto effects = groups_.take();
      if (effects.empty()) break;
      for (const auto& effect : effects) carry_out(effect);
    }
    settling_ = false;
    look_at_hosted();
    moved_.set();
    auto sign = signature();
    if (sign == last_signature_) return;
    last_signature_ = std::move(sign);
    if (changed_) changed_();
  }

  void carry_out(const mesh::GroupEffect& effect) {
    if (memory_.take(effect)) return;
    if (const auto* sent = std::get_if<mesh::SendMessage>(&effect)) {
      parts_.peers.send(sent->to, mesh::to_frame(sent->message));
    } else if (const auto* start = std::get_if<mesh::StartEngine>(&effect)) {
      const auto note = notes_.find(start->plan.model);
      engines_.start(start->plan, start->of, note != notes_.end() && note->second.by_hand);
    } else if (const auto* drain = std::get_if<mesh::DrainEngine>(&effect)) {
      end_engine(drain->of, [&] { return engines_.drain(drain->of, drain->within); });
    } else if (const auto* stop = std::get_if<mesh::StopEngine>(&effect)) {
      end_engine(stop->of, [&] { return engines_.stop(stop->of, why_stopping(stop->of)); });
    }
  }
  void end_engine(PlanTerm of, const auto& end) {
    auto* const engine = engines_.find(of);
    if (engine == nullptr) return;  // it has ended meanwhile, and the core knows
    const auto model = engine->plan.model;
    engine->ready = false;
    if (end()) groups_.engine_ended(model, of, last_);
  }
  void look_at_hosted() {
    const auto& hosted = groups_.hosted();
    std::erase_if(notes_, [&](const auto& note) { return !hosted.contains(note.first); });
    std::set<std::string> names;
    for (const auto& [model, host] : hosted) {
      auto& note = notes_[model];
      const auto* engine = engines_.of_model(model);
      const bool right = (engine != nullptr && engine->ready) || why_not(model, host).empty();
      if (right) {
        note.wrong_since.reset();
      } else if (!note.wrong_since) {
        note.wrong_since = parts_.timers.now();
      }
      if (auto name = parts_.own_name(model); !name.empty()) names.insert(std::move(name));
    }
    if (names == held_) return;
    for (const auto& name : names)
      if (!held_.contains(name)) parts_.processes.hold(name, true);
    for (const auto& name : held_)
      if (!names.contains(name)) parts_.processes.hold(name, false);
    held_ = std::move(names);
  }

  GroupMessages words_of(const ContentKey& model, const mesh::GroupHost& host) const {
    const auto note = notes_.find(model);
    return {.plan = host.plan(),
            .name = parts_.node_name,
            .linked = [this](const NodeId& node) { return node == own_ || parts_.peers.is_up(node); },
            .engine = note != notes_.end() ? note->second.engine : std::string()};
  }
  std::string why_not(const ContentKey& model, const mesh::GroupHost& host) const {
    return why_not_standing(host, words_of(model, host));
  }
  std::string why_stopping(PlanTerm of) {
    if (winding_) return "its node is stopping";
    const auto* engine = engines_.find(of);
    const auto& hosted = groups_.hosted();
    const auto host = engine != nullptr ? hosted.find(engine->plan.model) : hosted.end();
    return host == hosted.end() ? std::string() : why_stopped(host->second, words_of(host->first, host->second));
  }
  Hosted describe(const ContentKey& model, const mesh::GroupHost& host) const {
    using State = mesh::GroupHost::State;
    Hosted hosted;
    hosted.plan = host.plan();
    hosted.of = host.of();
    hosted.name = parts_.own_name(model);
    hosted.state = host.state();
    const auto* engine = engines_.of_model(model);
    hosted.running = engine != nullptr && engine->ready && host.state() == State::standing;
    hosted.under_way = !hosted.running && (engine != nullptr || host.state() != State::waiting);
    if (engine != nullptr) hosted.load_progress = engine->progress;
    if (!hosted.running) hosted.refusal = why_not(model, host);
    // Between two attempts nothing is in progress.
    if (host.state() == State::standing && engine == nullptr) hosted.under_way = false;
    if (const auto note = notes_.find(model); note != notes_.end()) {
      hosted.by_hand = note->second.by_hand;
      hosted.wrong_since = note->second.wrong_since;
    }
    return hosted;
  }
  // Text of all visible state.
  std::string signature() const {
    std::string text = fmt::format("{} {} ", problem(), recalled());
    for (const auto& one : hosted()) {
      text += fmt::format("{} {} {} {} {} {:.2f} {} {} {} ", mesh::hash8(one.plan.model), one.of.term,
                          static_cast<int>(one.state), one.running, one.under_way, one.load_progress.value_or(-1),
                          one.refusal, one.plan.split.shares.size(), one.by_hand);
    }
    if (const auto one = shared()) {
      text += fmt::format("{} {} {} {} {}", mesh::short_text(one->host), one->of.term, one->ready, one->reaping,
                          one->problem);
    }
    return text;
  }

  mesh::Groups::Options core_options() const {
    mesh::Groups::Options options;
    options.own = own_;
    options.epoch = parts_.peers.boot().epoch;
    // Grants to this node itself ended with the previous process.
    if (former_ != own_) options.former = former_;
    options.seed = parts_.seed;
    return options;
  }
  void update_members() {
    std::vector<NodeId> all = {own_};
    for (const auto& peer : parts_.peers.view()) all.push_back(peer.id);
    parts_.processes.members(std::move(all));
  }

  bool is_quiet() const { return engines_.empty() && groups_.hosted().empty() && memory_.is_quiet(); }
  Task<void> until_quiet(MonoTime until) {
    while (!is_quiet() && parts_.timers.now() < until) {
      moved_.reset();
      auto moving = moved();
      co_await async::with_timeout(parts_.timers, until - parts_.timers.now(), std::move(moving));
    }
    // Waits for the last write, which saves waiting time at the next start.
    const auto last = parts_.timers.now() + kLastWords;
    while (is_quiet() && file_.waiting_since() && parts_.timers.now() < last) {
      auto pause = parts_.timers.sleep_for(kLook);
      co_await std::move(pause);
    }
  }
  Task<bool> moved() {
    co_await moved_.wait();
    co_return true;
  }
  void force() {
    const auto now = enter();
    for (const auto& of : engines_.all()) carry_out(mesh::StopEngine{of});
    memory_.force(now);
  }

  const GroupParts parts_;
  const NodeId own_;
  GroupLinks links_;
  HolderFile file_;
  const std::optional<NodeId> former_;
  mesh::Groups groups_;
  GroupMemory memory_;
  GroupEngines engines_;
  std::map<ContentKey, Note> notes_;
  std::set<std::string> held_;
  std::function<void()> changed_;
  std::string last_signature_;
  BootTime last_;
  bool settling_ = false;
  bool winding_ = false;
  MonoTime wind_until_{};
  async::Event moved_;
  async::TaskGroup tasks_;
};

GroupRunner::GroupRunner(GroupParts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}
GroupRunner::~GroupRunner() = default;
void GroupRunner::start() { impl_->start(); }
void GroupRunner::wind_down(Millis within) { impl_->wind_down(within); }
Task<void> GroupRunner::stop() { return impl_->stop(); }
bool GroupRunner::want(mesh::GroupPlan plan, mesh::PlanCause cause, bool by_hand) {
  return impl_->want(std::move(plan), cause, by_hand);
}
void GroupRunner::end(const ContentKey& model) { impl_->end(model); }
void GroupRunner::lend(std::uint64_t bytes) { impl_->lend(bytes); }
void GroupRunner::take_back() { impl_->take_back(); }
std::vector<GroupRunner::Hosted> GroupRunner::hosted() const { return impl_->hosted(); }
std::optional<GroupRunner::Shared> GroupRunner::shared() const { return impl_->shared(); }
bool GroupRunner::recalled() const { return impl_->recalled(); }
std::vector<NodeId> GroupRunner::lost(const ContentKey& model) const { return impl_->lost(model); }
std::vector<NodeId> GroupRunner::lost() const { return impl_->lost(); }
const std::string& GroupRunner::problem() const { return impl_->problem(); }
void GroupRunner::on_change(std::function<void()> changed) { impl_->on_change(std::move(changed)); }
Task<Result<std::string>> GroupRunner::worker_for(NodeId host, ContentKey model, PlanTerm of) {
  return impl_->worker_for(host, model, of);
}
GroupReports& GroupRunner::reports() { return *impl_; }

}  // namespace corral::fleet
